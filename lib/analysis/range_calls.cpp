// SPDX-License-Identifier: MIT
#include "analysis/range_calls.hpp"

#include "analysis/calls.hpp"
#include "analysis/range_at.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rangefinder::analysis {
namespace {

/// Where the recording noted the range of the launch, that; else by time.
std::vector<RangeIndex> ranges_of(const Timeline& timeline, const ProjectionOptions& options,
                                  const std::vector<CallIndex>& calls) {
  std::vector<RangeIndex> noted(timeline.calls.size(), kNone);
  const LaunchTable& launches = timeline.launches;
  for (std::size_t launch = 0; launch < launches.size(); ++launch)
    if (launches.call[launch] < noted.size()) noted[launches.call[launch]] = launches.range[launch];
  std::vector<HostMoment> moments;
  moments.reserve(calls.size());
  for (const CallIndex call : calls) moments.push_back({timeline.calls.thread[call], timeline.calls.begin_ns[call]});
  std::vector<RangeIndex> ranges = ranges_at(timeline, options, moments);
  const bool notes_take_part = options.annotations && !options.operators;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const RangeIndex range = noted[calls[i]];
    if (notes_take_part && range < timeline.ranges.size() && timeline.ranges.kind[range] == RangeKind::kAnnotation &&
        (timeline.ranges.flags[range] & kOwnerless) == 0)
      ranges[i] = range;
  }
  return ranges;
}

/// Calls by function; with only one key where functions do not count.
struct Tally {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
  std::int64_t longest_ns = 0;
  void add(const Tally& other) noexcept {
    count += other.count;
    total_ns += other.total_ns;
    longest_ns = std::max(longest_ns, other.longest_ns);
  }
};
using Tallies = std::unordered_map<StringId, Tally>;

/// Adds up from the innermost ranges outwards: each range is met once however deep ranges nest.
class Totals {
 public:
  Totals(const Timeline& timeline, const Projection& projection)
      : timeline_(timeline), projection_(projection), own_(timeline.ranges.size()) {}

  void take(RangeIndex innermost, StringId function, std::int64_t length_ns) {
    const Tally one{1, length_ns, length_ns};
    RangeCalls& total = row(innermost, function);
    total.exclusive_ns += length_ns;
    if (innermost == kNone)
      include(total, one);
    else
      own_[innermost][function].add(one);
  }

  std::vector<RangeCalls> rows() && {
    list_children();
    for (RangeIndex range = 0; range < own_.size(); ++range)
      if (projection_.parent[range] == kNone) add_tree(range);
    return std::move(rows_);
  }

 private:
  static void include(RangeCalls& row, const Tally& tally) noexcept {
    row.count += tally.count;
    row.inclusive_ns += tally.total_ns;
    row.longest_ns = std::max(row.longest_ns, tally.longest_ns);
  }

  void list_children() {
    first_child_.assign(own_.size(), kNone);
    next_sibling_.assign(own_.size(), kNone);
    for (RangeIndex range = 0; range < own_.size(); ++range) {
      const RangeIndex parent = projection_.parent[range];
      if (parent == kNone) continue;
      next_sibling_[range] = first_child_[parent];
      first_child_[parent] = range;
    }
  }

  void add_tree(RangeIndex root) {
    RangeIndex range = root;
    enter(range);
    for (;;) {
      if (first_child_[range] != kNone) {
        range = first_child_[range];
      } else {
        leave(range);
        while (range != root && next_sibling_[range] == kNone) {
          range = projection_.parent[range];
          leave(range);
        }
        if (range == root) return;
        range = next_sibling_[range];
      }
      enter(range);
    }
  }

  void enter(RangeIndex range) { ++open_[timeline_.ranges.name[range]]; }

  void leave(RangeIndex range) {
    Tallies& tallies = own_[range];
    const bool inside_its_like = --open_[timeline_.ranges.name[range]] != 0;
    if (!inside_its_like)
      for (const auto& [function, tally] : tallies) include(row(range, function), tally);
    const RangeIndex parent = projection_.parent[range];
    if (parent != kNone) {
      if (own_[parent].size() < tallies.size()) own_[parent].swap(tallies);
      for (const auto& [function, tally] : tallies) own_[parent][function].add(tally);
    }
    Tallies().swap(tallies);
  }

  RangeCalls& row(RangeIndex range, StringId function) {
    const bool outside = range == kNone;
    const StringId name = outside ? StringId::kEmpty : timeline_.ranges.name[range];
    const auto [found, added] = by_key_.try_emplace({outside, name, function}, rows_.size());
    if (added) {
      RangeCalls fresh;
      fresh.range = name;
      fresh.outside = outside;
      fresh.call = function;
      rows_.push_back(fresh);
    }
    return rows_[found->second];
  }

  const Timeline& timeline_;
  const Projection& projection_;
  std::vector<Tallies> own_;  // by range: its own calls, then also those of the ranges inside it
  std::vector<RangeIndex> first_child_, next_sibling_;
  std::unordered_map<StringId, std::uint32_t> open_;  // by name, around the range at hand and that itself
  std::map<std::tuple<bool, StringId, StringId>, std::size_t> by_key_;
  std::vector<RangeCalls> rows_;
};

}  // namespace

std::vector<RangeCalls> calls_of_ranges(const Timeline& timeline, const Projection& projection,
                                        const ProjectionOptions& options, bool by_function) {
  const std::vector<CallIndex> calls = outermost_calls(timeline);
  const std::vector<RangeIndex> ranges = ranges_of(timeline, options, calls);
  Totals totals(timeline, projection);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CallIndex call = calls[i];
    const std::int64_t length = std::max<std::int64_t>(timeline.calls.end_ns[call] - timeline.calls.begin_ns[call], 0);
    totals.take(ranges[i], by_function ? timeline.calls.name[call] : StringId::kEmpty, length);
  }
  std::vector<RangeCalls> rows = std::move(totals).rows();
  std::map<std::pair<bool, StringId>, std::int64_t> of_range;
  for (const RangeCalls& row : rows) of_range[{row.outside, row.range}] += row.inclusive_ns;
  std::stable_sort(rows.begin(), rows.end(), [&](const RangeCalls& a, const RangeCalls& b) {
    const auto rank = [&](const RangeCalls& row) {
      return std::tuple(-of_range[{row.outside, row.range}], row.outside, row.range, -row.inclusive_ns, row.call);
    };
    return rank(a) < rank(b);
  });
  return rows;
}

}  // namespace rangefinder::analysis
