// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/range_forest.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <vector>

// Quantities over the time in which work of ranges ran: energy, samples of counters.
namespace rangefinder::analysis {

/// Finds the innermost range that is, or is around, two ranges.
class CommonRange {
 public:
  CommonRange(const Projection& projection, const RangeForest& forest);

  /// kNone where there is none. O(log ranges).
  RangeIndex of(RangeIndex a, RangeIndex b) const noexcept;
  /// In the order in which a walk enters ranges: those inside a range follow it at once.
  std::uint32_t position(RangeIndex range) const noexcept { return position_[range]; }

 private:
  const Projection& projection_;
  std::vector<std::uint32_t> position_;
  /// A path leads from each range to the one inside it that has most ranges, and so on. Of each range the outermost one
  /// of its path: from any range outwards there are O(log ranges) paths.
  std::vector<RangeIndex> head_;
};

/// For each range the integral of a quantity over the time in which any activity ran that the range, or one inside it,
/// owns; where several run at once, that time counts once.
///
/// The ranges whose own work runs at a moment, in the order of a walk, and the ranges around them: each range counts
/// once if every owner adds the moment to itself and to all around it, and every two neighbours take it from the
/// innermost range around both. So one activity is O(log ranges), however deep it is.
///
/// Of several devices, one is added after the other, and ranges are gone through once, at the end.
///
/// `Amount` has += and -=; `between(begin_ns, end_ns)` gives one, and adds up over stretches that follow each other.
template <typename Amount>
class RunningIntegrals {
 public:
  RunningIntegrals(const Timeline& timeline, const Projection& projection, const RangeForest& forest,
                   const CommonRange& common)
      : timeline_(timeline),
        projection_(projection),
        forest_(forest),
        common_(common),
        totals_(timeline.ranges.size(), Amount{}) {}

  /// Of activities in any order; those without an owner add nothing.
  template <typename Between>
  void add(std::span<const ActivityIndex> activities, const Between& between) {
    for (const Change& change : changes_of(activities)) {
      if (change.begins)
        begin(change.owner, change.time_ns, between);
      else
        end(change.owner, change.time_ns, between);
    }
  }

  /// By range, of all that was added. Afterwards this has none.
  std::vector<Amount> take() {
    forest_.add_to_parents(totals_, [](Amount& around, const Amount& inside) { around += inside; });
    return std::move(totals_);
  }

 private:
  struct Change {
    std::int64_t time_ns;
    RangeIndex owner;
    bool begins;
  };
  struct Running {
    RangeIndex range;
    std::uint32_t activities;
    std::int64_t since_ns;
    std::int64_t beside_next_since_ns;
  };
  using Place = typename std::map<std::uint32_t, Running>::iterator;

  std::vector<Change> changes_of(std::span<const ActivityIndex> activities) const {
    std::vector<Change> changes;
    for (const ActivityIndex activity : activities) {
      const RangeIndex owner(projection_.owner[activity]);
      const std::int64_t begin_ns = timeline_.activities.begin_ns[activity];
      const std::int64_t end_ns = timeline_.activities.end_ns[activity];
      if (owner >= timeline_.ranges.size() || begin_ns >= end_ns) continue;
      changes.push_back({begin_ns, owner, true});
      changes.push_back({end_ns, owner, false});
    }
    // What begins before what ends: work that follows at once is one stretch.
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.begins > b.begins;
    });
    return changes;
  }

  template <typename Between>
  void begin(RangeIndex range, std::int64_t time_ns, const Between& between) {
    const auto [place, added] = running_.try_emplace(common_.position(range), Running{range, 0, time_ns, time_ns});
    ++place->second.activities;
    if (!added || place == running_.begin()) return;
    const Place before = std::prev(place);
    if (std::next(place) != running_.end()) part(before, std::next(place), time_ns, between);
    before->second.beside_next_since_ns = time_ns;
  }

  template <typename Between>
  void end(RangeIndex range, std::int64_t time_ns, const Between& between) {
    const Place place = running_.find(common_.position(range));
    if (--place->second.activities != 0) return;
    totals_[range] += between(place->second.since_ns, time_ns);
    const Place next = std::next(place);
    if (next != running_.end()) part(place, next, time_ns, between);
    if (place != running_.begin()) {
      part(std::prev(place), place, time_ns, between);
      std::prev(place)->second.beside_next_since_ns = time_ns;
    }
    running_.erase(place);
  }

  /// Two that ran beside each other no longer are neighbours.
  template <typename Between>
  void part(Place a, Place b, std::int64_t time_ns, const Between& between) {
    const RangeIndex around = common_.of(a->second.range, b->second.range);
    if (around != kNone) totals_[around] -= between(a->second.beside_next_since_ns, time_ns);
  }

  const Timeline& timeline_;
  const Projection& projection_;
  const RangeForest& forest_;
  const CommonRange& common_;
  std::map<std::uint32_t, Running> running_;  // owners of what runs, by position
  std::vector<Amount> totals_;
};

}  // namespace rangefinder::analysis
