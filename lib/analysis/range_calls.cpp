// SPDX-License-Identifier: MIT
#include "analysis/range_calls.hpp"

#include "analysis/calls.hpp"
#include "analysis/range_at.hpp"
#include "analysis/range_forest.hpp"
#include "base/descending.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>
#include <bit>
#include <limits>
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
      : names_(timeline.ranges.name),
        string_count_(timeline.string_count()),
        projection_(projection),
        tallies_of_(names_.size(), kNone) {}

  void take(RangeIndex innermost, StringId function, std::int64_t length_ns) {
    const Tally one{1, length_ns, length_ns};
    RangeCalls& total = row(innermost, function);
    total.exclusive_ns += length_ns;
    if (innermost == kNone)
      include(total, one);
    else
      tallies(innermost)[function].add(one);
  }

  std::vector<RangeCalls> rows(std::size_t most_rows) && {
    const RangeForest forest(projection_);
    inside_its_like_ =
        inside_their_like(names_.size(), forest, [this](RangeIndex range) { return number_of(names_[range]); });
    if (count_rows(forest) > most_rows) note_callers();
    forest.walk([](RangeIndex) {}, [this](RangeIndex range) { leave(range); });
    return std::move(rows_);
  }

 private:
  static constexpr StringId kFurtherInside{std::uint32_t{kNone}};  // in the place of a function

  static std::uint32_t number_of(StringId name) noexcept { return static_cast<std::uint32_t>(name); }

  /// Those that rows() makes with one for each function; of more than 64 functions perhaps less.
  std::size_t count_rows(const RangeForest& forest) const {
    projection::FlatMap numbers;
    std::vector<std::uint64_t> called(names_.size());  // a bit for each function
    for (RangeIndex range{0}; range < names_.size(); ++range) {
      if (tallies_of_[range] == kNone) continue;
      for (const auto& [function, tally] : tallies_[tallies_of_[range]]) {
        if (numbers.find(number_of(function)) == projection::FlatMap::kAbsent)
          numbers.set(number_of(function), static_cast<std::uint32_t>(numbers.size()));
        called[range] |= std::uint64_t{1} << numbers.find(number_of(function)) % 64;
      }
    }
    forest.add_to_parents(called, [](std::uint64_t& around, std::uint64_t inside) { around |= inside; });
    std::vector<std::uint64_t> by_name(string_count_);
    for (RangeIndex range{0}; range < names_.size(); ++range) by_name[number_of(names_[range])] |= called[range];
    std::size_t rows = 0;
    for (const std::uint64_t functions : by_name) rows += static_cast<std::size_t>(std::popcount(functions));
    return rows;
  }

  void note_callers() {
    callers_.assign(string_count_, false);
    for (const RangeCalls& row : rows_)
      if (!row.outside) callers_[number_of(row.range)] = true;
  }

  void include_all(RangeIndex range, const Tallies& tallies) {
    if (callers_.empty()) {
      for (const auto& [function, tally] : tallies) include(row(range, function), tally);
      return;
    }
    const bool is_caller = callers_[number_of(names_[range])];
    Tally others;
    for (const auto& [function, tally] : tallies) {
      if (is_caller && by_key_.find(key_of(range, function)) != projection::FlatMap::kAbsent)
        include(row(range, function), tally);
      else
        others.add(tally);
    }
    if (others.count != 0) include(row(range, kFurtherInside), others);
  }

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
    const std::uint32_t place = tallies_of_[range];
    if (place == kNone) return;
    if (!inside_its_like_[range]) include_all(range, tallies_[place]);
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

  std::uint64_t key_of(RangeIndex range, StringId function) const noexcept {
    return std::uint64_t{range == kNone ? kNone : number_of(names_[range])} << 32 | number_of(function);
  }

  RangeCalls& row(RangeIndex range, StringId function) {
    const std::uint64_t key = key_of(range, function);
    const std::uint32_t known = by_key_.find(key);
    if (known != projection::FlatMap::kAbsent) return rows_[known];
    by_key_.set(key, static_cast<std::uint32_t>(rows_.size()));
    RangeCalls fresh;
    fresh.outside = range == kNone;
    fresh.further_inside = function == kFurtherInside;
    if (!fresh.outside) fresh.range = names_[range];
    if (!fresh.further_inside) fresh.call = function;
    return rows_.emplace_back(fresh);
  }

  const TableColumn<&RangeRow::name>& names_;
  std::uint32_t string_count_;
  const Projection& projection_;
  std::vector<std::uint32_t> tallies_of_;  // by range: its own calls, then also those of the ranges inside it
  std::vector<Tallies> tallies_;
  std::vector<bool> inside_its_like_;  // by range
  std::vector<bool> callers_;          // by name: calls something itself; empty: rows are not too many
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
      return std::tuple(base::Descending{of_range[place(row)]}, place(row), base::Descending{row.inclusive_ns},
                        row.call);
    };
    return rank(a) < rank(b);
  });
}

}  // namespace

std::vector<RangeCalls> calls_of_ranges(const Timeline& timeline, const Projection& projection,
                                        const ProjectionOptions& options, bool by_function, std::size_t most_rows) {
  const std::vector<CallIndex> calls = outermost_calls(timeline);
  const std::vector<RangeIndex> ranges = ranges_of(timeline, options, calls);
  Totals totals(timeline, projection);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CallIndex call = calls[i];
    const std::int64_t length = std::max<std::int64_t>(timeline.calls.end_ns[call] - timeline.calls.begin_ns[call], 0);
    totals.take(ranges[i], by_function ? timeline.calls.name[call] : StringId::kEmpty, length);
  }
  std::vector<RangeCalls> rows =
      std::move(totals).rows(by_function ? most_rows : std::numeric_limits<std::size_t>::max());
  sort_by_time(rows, timeline.string_count());
  return rows;
}

}  // namespace rangefinder::analysis
