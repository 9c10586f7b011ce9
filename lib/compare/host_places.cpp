// SPDX-License-Identifier: MIT
#include "compare/host_places.hpp"

#include "projection/range_order.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace rangefinder::compare {
namespace {

/// Goes through the ranges of a thread in their order. Of those that are open the last one that began is the innermost.
template <typename PlaceOf>
class ThreadSweep {
 public:
  ThreadSweep(const RangeTable& ranges, PlaceOf place_of, std::vector<HostStretch>& stretches)
      : ranges_(ranges), place_of_(place_of), stretches_(stretches), first_(stretches.size()) {}

  void begin(RangeIndex range) {
    const std::int64_t begin_ns = within(ranges_.begin_ns[range]);
    advance(begin_ns);
    if (within(ranges_.end_ns[range]) > begin_ns) open_.push_back(range);
  }
  void finish() { advance(std::numeric_limits<std::int64_t>::max()); }

 private:
  void advance(std::int64_t to_ns) {
    while (!open_.empty() && now_ns_ < to_ns) {
      const std::int64_t end_ns = within(ranges_.end_ns[open_.back()]);
      if (now_ns_ < end_ns) add(std::min(to_ns, end_ns), place_of_(open_.back()));
      if (end_ns <= to_ns) open_.pop_back();  // as those below that have ended will be, when they are the last
    }
    if (open_.empty()) now_ns_ = std::max(now_ns_, to_ns);
  }
  void add(std::int64_t end_ns, std::uint32_t place) {
    const bool goes_on = stretches_.size() > first_ && stretches_.back().end_ns == now_ns_;
    if (goes_on && stretches_.back().place == place)
      stretches_.back().end_ns = end_ns;
    else
      stretches_.push_back({now_ns_, end_ns, place});
    now_ns_ = end_ns;
  }

  const RangeTable& ranges_;
  PlaceOf place_of_;
  std::vector<HostStretch>& stretches_;
  std::size_t first_;  // of this thread
  std::vector<RangeIndex> open_;
  std::int64_t now_ns_ = -analysis::kFarthestNs;
};

}  // namespace

template <typename PlaceOf>
HostPlaces::Stretches HostPlaces::stretches(const Timeline& timeline, RangeKind kind, PlaceOf place_of) {
  ProjectionOptions options;
  options.annotations = kind == RangeKind::kAnnotation;
  options.operators = kind == RangeKind::kOperator;
  const projection::RangeOrder order(timeline, options);
  Stretches out;
  std::vector<RangeIndex> merged;
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    out.first.push_back(out.all.size());
    std::span<const RangeIndex> ranges = order.scoped(thread);
    if (const auto start_end = order.start_end(thread); !start_end.empty()) {
      merged.clear();
      std::merge(ranges.begin(), ranges.end(), start_end.begin(), start_end.end(), std::back_inserter(merged),
                 [&](RangeIndex a, RangeIndex b) { return order.before(a, b); });
      ranges = merged;
    }
    ThreadSweep sweep(timeline.ranges, place_of, out.all);
    for (const RangeIndex range : ranges) sweep.begin(range);
    sweep.finish();
  }
  out.first.push_back(out.all.size());
  return out;
}

HostPlaces::HostPlaces(const Timeline& timeline, const PathNumbers& paths)
    : paths_(stretches(timeline, RangeKind::kAnnotation, [&](RangeIndex range) { return paths.of_range[range]; })),
      operators_(stretches(timeline, RangeKind::kOperator,
                           [&](RangeIndex range) { return static_cast<std::uint32_t>(timeline.ranges.name[range]); })) {
}

}  // namespace rangefinder::compare
