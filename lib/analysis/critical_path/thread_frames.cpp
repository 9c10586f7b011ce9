// SPDX-License-Identifier: MIT
#include "analysis/critical_path/thread_frames.hpp"

#include "analysis/critical_path/graph.hpp"
#include "base/descending.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::analysis::critical_path {
namespace {

bool takes_part(const RangeTable& ranges, RangeIndex row) noexcept {
  const bool known = ranges.kind[row] == RangeKind::kAnnotation || ranges.kind[row] == RangeKind::kOperator;
  return known && ranges.style[row] == RangeStyle::kScoped && (ranges.flags[row] & kBeforeRecording) == 0 &&
         clamped(ranges.begin_ns[row]) < clamped(ranges.end_ns[row]);
}

}  // namespace

ThreadFrames::ThreadFrames(const Timeline& timeline) : timeline_(timeline), first_(timeline.threads.size() + 1) {
  const RangeTable& ranges = timeline.ranges;
  const CallTable& calls = timeline.calls;
  const auto for_each = [&](auto use) {
    for (RangeIndex row{0}; row < ranges.size(); ++row)
      if (ranges.thread[row] < timeline.threads.size() && takes_part(ranges, row))
        use(ranges.thread[row], static_cast<std::uint32_t>(row));
    for (CallIndex row{0}; row < calls.size(); ++row)
      if (calls.thread[row] < timeline.threads.size() && clamped(calls.begin_ns[row]) < clamped(calls.end_ns[row]))
        use(calls.thread[row], static_cast<std::uint32_t>(ranges.size() + row));
  };
  for_each([&](ThreadIndex thread, std::uint32_t) { ++first_[thread + std::size_t{1}]; });
  for (std::size_t thread = 1; thread < first_.size(); ++thread) first_[thread] += first_[thread - 1];
  ids_.resize(first_.back());
  std::vector<std::size_t> next(first_);
  for_each([&](ThreadIndex thread, std::uint32_t id) { ids_[next[thread]++] = id; });
  const auto outer_first = [this](std::uint32_t a, std::uint32_t b) {
    const Frame one = frame_of(a), other = frame_of(b);
    return std::tuple(one.begin_ns, base::Descending{one.end_ns}, a) <
           std::tuple(other.begin_ns, base::Descending{other.end_ns}, b);
  };
  for (std::size_t thread = 0; thread + 1 < first_.size(); ++thread) {
    const auto from = ids_.begin() + static_cast<std::ptrdiff_t>(first_[thread]);
    const auto to = ids_.begin() + static_cast<std::ptrdiff_t>(first_[thread + 1]);
    // Ranges and calls are each in order as a rule.
    const auto calls_from = std::partition_point(from, to, [&](std::uint32_t id) { return id < ranges.size(); });
    if (!std::is_sorted(from, calls_from, outer_first)) std::sort(from, calls_from, outer_first);
    if (!std::is_sorted(calls_from, to, outer_first)) std::sort(calls_from, to, outer_first);
    std::inplace_merge(from, calls_from, to, outer_first);
  }
}

Frame ThreadFrames::frame_of(std::uint32_t id) const noexcept {
  const RangeTable& ranges = timeline_.ranges;
  if (id < ranges.size()) {
    const RangeIndex row(id);
    return {clamped(ranges.begin_ns[row]), clamped(ranges.end_ns[row]), row, kNone};
  }
  const CallIndex row(id - ranges.size());
  return {clamped(timeline_.calls.begin_ns[row]), clamped(timeline_.calls.end_ns[row]), kNone, row};
}

std::vector<Span> ThreadFrames::busy(ThreadIndex thread) const {
  std::vector<Span> spans;
  for (std::size_t at = 0; at < count_of(thread); ++at) {
    const Frame one = frame(thread, at);
    if (!spans.empty() && one.begin_ns < spans.back().end)
      spans.back().end = std::max(spans.back().end, one.end_ns);
    else
      spans.push_back({one.begin_ns, one.end_ns});
  }
  return spans;
}

std::vector<std::int64_t> ThreadFrames::times(ThreadIndex thread) const {
  std::vector<std::int64_t> times;
  times.reserve(2 * count_of(thread));
  for (std::size_t at = 0; at < count_of(thread); ++at) {
    const Frame one = frame(thread, at);
    times.push_back(one.begin_ns);
    times.push_back(one.end_ns);
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace rangefinder::analysis::critical_path
