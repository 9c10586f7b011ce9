// SPDX-License-Identifier: MIT
#include "analysis/range_calls.hpp"

#include "analysis/calls.hpp"
#include "analysis/range_at.hpp"
#include "analysis/range_forest.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>
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
      : names_(timeline.ranges.name), projection_(projection), tallies_of_(names_.size(), kNone) {}

  void take(RangeIndex innermost, StringId function, std::int64_t length_ns) {
    const Tally one{1, length_ns, length_ns};
    RangeCalls& total = row(innermost, function);
    total.exclusive_ns += length_ns;
    if (innermost == kNone)
      include(total, one);
    else
      tallies(innermost)[function].add(one);
  }

  std::vector<RangeCalls> rows() && {
    RangeForest(projection_)
        .walk([this](RangeIndex range) { ++open_[names_[range]]; }, [this](RangeIndex range) { leave(range); });
    return std::move(rows_);
  }

 private:
  static void include(RangeCalls& row, const Tally& tally) noexcept {
    row.count += tally.count;
    row.inclusive_ns += tally.total_ns;
    row.longest_ns = std::max(row.longest_ns, tally.longest_ns);
  }

  Tallies& tallies(RangeIndex range) {
    std::uint32_t& place = tallies_of_[range];
    if (place == kNone) {
      place = static_cast<std::uint32_t>(tallies_.size());
      tallies_.emplace_back();
    }
    return tallies_[place];
  }

  void leave(RangeIndex range) {
    const auto open = open_.find(names_[range]);
    const bool inside_its_like = --open->second != 0;
    if (!inside_its_like) open_.erase(open);
    const std::uint32_t place = tallies_of_[range];
    if (place == kNone) return;
    if (!inside_its_like)
      for (const auto& [function, tally] : tallies_[place]) include(row(range, function), tally);
    const RangeIndex parent = projection_.parent[range];
    if (parent == kNone) {
      Tallies().swap(tallies_[place]);
      return;
    }
    if (tallies_of_[parent] == kNone) {
      tallies_of_[parent] = place;
      return;
    }
    Tallies& around = tallies_[tallies_of_[parent]];
    if (around.size() < tallies_[place].size()) around.swap(tallies_[place]);
    for (const auto& [function, tally] : tallies_[place]) around[function].add(tally);
    Tallies().swap(tallies_[place]);
  }

  RangeCalls& row(RangeIndex range, StringId function) {
    const bool outside = range == kNone;
    const StringId name = outside ? StringId::kEmpty : names_[range];
    const std::uint64_t key =
        std::uint64_t{outside ? kNone : static_cast<std::uint32_t>(name)} << 32 | static_cast<std::uint32_t>(function);
    const std::uint32_t known = by_key_.find(key);
    if (known != projection::FlatMap::kAbsent) return rows_[known];
    by_key_.set(key, static_cast<std::uint32_t>(rows_.size()));
    RangeCalls fresh;
    fresh.range = name;
    fresh.outside = outside;
    fresh.call = function;
    return rows_.emplace_back(fresh);
  }

  const std::vector<StringId>& names_;
  const Projection& projection_;
  std::vector<std::uint32_t> tallies_of_;  // by range: its own calls, then also those of the ranges inside it
  std::vector<Tallies> tallies_;
  std::unordered_map<StringId, std::uint32_t> open_;  // by name, around the range at hand and that itself
  projection::FlatMap by_key_;
  std::vector<RangeCalls> rows_;
};

/// Ranges by their time in calls, the functions of each likewise.
void sort_by_time(std::vector<RangeCalls>& rows, std::uint32_t names) {
  std::vector<std::int64_t> of_range(std::size_t{names} + 1, 0);  // the last one: outside
  const auto place = [&](const RangeCalls& row) { return row.outside ? names : static_cast<std::uint32_t>(row.range); };
  for (const RangeCalls& row : rows) of_range[place(row)] += row.inclusive_ns;
  std::sort(rows.begin(), rows.end(), [&](const RangeCalls& a, const RangeCalls& b) {
    const auto rank = [&](const RangeCalls& row) {
      return std::tuple(-of_range[place(row)], place(row), -row.inclusive_ns, row.call);
    };
    return rank(a) < rank(b);
  });
}

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
  sort_by_time(rows, timeline.string_count());
  return rows;
}

}  // namespace rangefinder::analysis
