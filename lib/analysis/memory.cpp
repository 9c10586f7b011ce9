// SPDX-License-Identifier: MIT
#include "analysis/memory.hpp"

#include "analysis/memory_owners.hpp"
#include "projection/figures.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace rangefinder::analysis {
namespace {

using projection::minus;
using projection::plus;

std::int64_t signed_bytes(std::uint64_t bytes) noexcept {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::int64_t>::max()));
}

/// What the event adds to the blocks.
std::int64_t change_of(const AllocatorEventTable& memory, std::size_t row) noexcept {
  if (memory.action[row] == MemoryAction::kAllocate) return signed_bytes(memory.bytes[row]);
  if (memory.action[row] == MemoryAction::kFree) return -signed_bytes(memory.bytes[row]);
  return 0;
}

std::vector<std::uint32_t> rows_by_time(const AllocatorEventTable& memory) {
  std::vector<std::uint32_t> rows(memory.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return memory.time_ns[a] < memory.time_ns[b]; });
  return rows;
}

ProcessIndex process_of(const Timeline& timeline, ThreadIndex thread) noexcept {
  return thread < timeline.threads.size() ? timeline.threads[thread].process : ProcessIndex{0};
}

void count(const AllocatorEventTable& memory, std::uint32_t row, MemoryFigures& figures) noexcept {
  if (memory.action[row] == MemoryAction::kAllocate) {
    ++figures.allocations;
    figures.allocated_bytes = plus(figures.allocated_bytes, signed_bytes(memory.bytes[row]));
  } else if (memory.action[row] == MemoryAction::kFree) {
    ++figures.frees;
    figures.freed_bytes = plus(figures.freed_bytes, signed_bytes(memory.bytes[row]));
  }
}

/// Fills in what follows from the rows.
void follow(const AllocatorEventTable& memory, PlaceMemory& place) {
  std::int64_t level = 0;
  std::map<std::uint64_t, std::int64_t> pools;
  for (std::size_t i = 0; i < place.rows.size(); ++i) {
    const std::uint32_t row = place.rows[i];
    const std::int64_t change = change_of(memory, row);
    const std::int64_t told = memory.allocated[row];
    if (i == 0) {
      level = told >= 0 ? minus(told, change) : 0;
      place.first_bytes = place.peak_bytes = level;
    }
    // Totals were taken together with what they count; times of two threads may be a little out of order.
    level = told >= 0 ? told : plus(level, change);
    place.level.push_back(level);
    if (level > place.peak_bytes) {
      place.peak_bytes = level;
      place.peak = i;
    }
    if (const std::int64_t reserved = memory.reserved[row]; reserved >= 0) {
      place.peak_reserved = std::max(place.peak_reserved, reserved);
      if (told >= 0) place.unused_reserved = std::max(place.unused_reserved, minus(reserved, told));
    }
    const MemoryAction action = memory.action[row];
    place.segments += action == MemoryAction::kSegmentAllocate || action == MemoryAction::kSegmentMap ? 1 : 0;
    place.out_of_memory += action == MemoryAction::kOutOfMemory ? 1 : 0;
    count(memory, row, place.all);
    if (change != 0) {
      std::int64_t& in_pool = pools[memory.pool[row]];
      in_pool = plus(in_pool, change);
      std::int64_t& most = place.pool_peaks[memory.pool[row]];
      most = std::max(most, in_pool);
    }
  }
}

/// The greatest of a run of levels, in the logarithm of their number.
class Greatest {
 public:
  explicit Greatest(const std::vector<std::int64_t>& values) : size_(values.size()), tree_(2 * values.size()) {
    std::copy(values.begin(), values.end(), tree_.begin() + static_cast<std::ptrdiff_t>(size_));
    for (std::size_t i = size_; i-- > 1;) tree_[i] = std::max(tree_[2 * i], tree_[2 * i + 1]);
  }
  /// At least `floor`.
  std::int64_t of(std::size_t from, std::size_t to, std::int64_t floor) const noexcept {
    for (from += size_, to += size_; from < to; from /= 2, to /= 2) {
      if (from % 2 != 0) floor = std::max(floor, tree_[from++]);
      if (to % 2 != 0) floor = std::max(floor, tree_[--to]);
    }
    return floor;
  }

 private:
  std::size_t size_;
  std::vector<std::int64_t> tree_;
};

/// Of the ranges in which anything happened.
struct FiguresOfRanges {
  std::unordered_map<RangeIndex, MemoryFigures> inclusive;
  std::unordered_map<RangeIndex, MemoryFigures> exclusive;
};

FiguresOfRanges figures_of(const Timeline& timeline, const PlaceMemory& place, const NestedRanges& nested) {
  const std::vector<RangeIndex> owners = owners_of(timeline, nested, place.rows);
  FiguresOfRanges figures;
  for (std::size_t i = 0; i < place.rows.size(); ++i) {
    if (owners[i] != kNone) count(timeline.allocator_events, place.rows[i], figures.exclusive[owners[i]]);
  }
  figures.inclusive = figures.exclusive;
  // Inner ones first: nested.order has outer ones first.
  for (std::size_t i = nested.order.size(); i-- > 0;) {
    const auto mine = figures.inclusive.find(nested.order[i]);
    if (mine == figures.inclusive.end() || nested.parent[i] == kNone) continue;
    const MemoryFigures inside = mine->second;
    figures.inclusive[nested.parent[i]].add(inside);
  }
  return figures;
}

std::vector<PeakShare> sorted_shares(std::unordered_map<std::uint32_t, PeakShare>& shares) {
  std::vector<PeakShare> sorted;
  for (const auto& [name, share] : shares) sorted.push_back(share);
  std::sort(sorted.begin(), sorted.end(), [](const PeakShare& a, const PeakShare& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.range < b.range;
  });
  return sorted;
}

}  // namespace

std::int64_t MemoryFigures::delta_bytes() const noexcept { return minus(allocated_bytes, freed_bytes); }

void MemoryFigures::add(const MemoryFigures& other) noexcept {
  allocations += other.allocations;
  frees += other.frees;
  allocated_bytes = plus(allocated_bytes, other.allocated_bytes);
  freed_bytes = plus(freed_bytes, other.freed_bytes);
}

std::size_t PlaceMemory::events_to_peak() const noexcept {
  return !level.empty() && level[peak] == peak_bytes ? peak + 1 : 0;
}

std::int64_t PlaceMemory::level_at(const Timeline& timeline, std::int64_t time_ns) const {
  const auto& times = timeline.allocator_events.time_ns;
  const auto next = std::lower_bound(rows.begin(), rows.end(), time_ns,
                                     [&](std::uint32_t row, std::int64_t time) { return times[row] < time; });
  return next == rows.begin() ? first_bytes : level[static_cast<std::size_t>(next - rows.begin()) - 1];
}

std::vector<PlaceMemory> memory_of_places(const Timeline& timeline) {
  const AllocatorEventTable& memory = timeline.allocator_events;
  std::map<MemoryPlace, PlaceMemory> places;
  for (const std::uint32_t row : rows_by_time(memory)) {
    const MemoryPlace place{process_of(timeline, memory.thread[row]), memory.device[row]};
    PlaceMemory& found = places[place];
    found.place = place;
    found.rows.push_back(row);
  }
  std::vector<PlaceMemory> all;
  for (auto& [key, place] : places) {
    follow(memory, place);
    all.push_back(std::move(place));
  }
  return all;
}

std::vector<RangeMemory> memory_of_ranges(const RangeNesting& nesting, const PlaceMemory& place, RangeKind kind,
                                          bool instances) {
  const Timeline& timeline = nesting.timeline();
  const AllocatorEventTable& memory = timeline.allocator_events;
  const RangeTable& ranges = timeline.ranges;
  const NestedRanges& nested = nesting.of(kind, place.place.process);
  const FiguresOfRanges figures = figures_of(timeline, place, nested);
  const Greatest greatest(place.level);
  const auto position = [&](std::int64_t time_ns) {
    return static_cast<std::size_t>(
        std::lower_bound(place.rows.begin(), place.rows.end(), time_ns,
                         [&](std::uint32_t row, std::int64_t time) { return memory.time_ns[row] < time; }) -
        place.rows.begin());
  };
  std::vector<RangeMemory> groups;
  std::unordered_map<std::uint32_t, std::size_t> by_name;
  for (std::size_t i = 0; i < nested.order.size(); ++i) {
    const RangeIndex range = nested.order[i];
    const std::size_t from = position(ranges.begin_ns[range]);
    const std::size_t to = std::max(from, position(ranges.end_ns[range]));
    const auto mine = figures.inclusive.find(range);
    const bool has_own = mine != figures.inclusive.end();
    if (from == to && !has_own) continue;
    const std::uint32_t key = instances ? range : static_cast<std::uint32_t>(ranges.name[range]);
    const auto [found, added] = by_name.try_emplace(key, groups.size());
    if (added) {
      groups.emplace_back();
      groups.back().name = ranges.name[range];
      groups.back().first = range;
    }
    RangeMemory& group = groups[found->second];
    ++group.count;
    if (has_own && (instances || !nested.inside_its_like[i])) group.inclusive.add(mine->second);
    if (const auto own = figures.exclusive.find(range); own != figures.exclusive.end())
      group.exclusive.add(own->second);
    const std::int64_t begin = from == 0 ? place.first_bytes : place.level[from - 1];
    const std::int64_t peak = greatest.of(from, to, begin);
    group.peak_bytes = std::max(group.peak_bytes, peak);
    group.above_begin = std::max(group.above_begin, minus(peak, begin));
  }
  return groups;
}

PeakComposition peak_composition(const RangeNesting& nesting, const PlaceMemory& place) {
  const Timeline& timeline = nesting.timeline();
  const AllocatorEventTable& memory = timeline.allocator_events;
  const std::size_t count = place.events_to_peak();
  std::unordered_map<std::uint64_t, std::size_t> live;  // position in rows, by address
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t row = place.rows[i];
    // An address that comes again was freed in between, whether the data say so or not.
    if (memory.action[row] == MemoryAction::kAllocate) live.insert_or_assign(memory.address[row], i);
    if (memory.action[row] == MemoryAction::kFree) live.erase(memory.address[row]);
  }
  std::vector<std::uint32_t> rows;
  for (const auto& [address, at] : live) rows.push_back(place.rows[at]);
  std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return memory.time_ns[a] != memory.time_ns[b] ? memory.time_ns[a] < memory.time_ns[b] : a < b;
  });

  PeakComposition composition;
  composition.earlier_bytes = place.peak_bytes;
  for (const std::uint32_t row : rows)
    composition.earlier_bytes = minus(composition.earlier_bytes, change_of(memory, row));
  composition.earlier_bytes = std::max<std::int64_t>(composition.earlier_bytes, 0);
  for (const RangeKind kind : {RangeKind::kAnnotation, RangeKind::kOperator}) {
    const NestedRanges& nested = nesting.of(kind, place.place.process);
    const std::vector<RangeIndex> owners = owners_of(timeline, nested, rows);
    std::unordered_map<std::uint32_t, PeakShare> shares;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const StringId name = owners[i] != kNone ? timeline.ranges.name[owners[i]] : StringId::kEmpty;
      PeakShare& share = shares[static_cast<std::uint32_t>(name)];
      share.range = name;
      ++share.blocks;
      share.bytes = plus(share.bytes, change_of(memory, rows[i]));
    }
    (kind == RangeKind::kAnnotation ? composition.by_range : composition.by_operator) = sorted_shares(shares);
  }
  return composition;
}

std::int64_t StepMemory::growth() const noexcept {
  if (end_bytes.size() < 2) return 0;
  return minus(end_bytes.back(), end_bytes.front()) / static_cast<std::int64_t>(end_bytes.size() - 1);
}

StepMemory memory_of_steps(const Timeline& timeline, const PlaceMemory& place) {
  const StepTable& steps = timeline.steps;
  std::vector<std::int64_t> ends;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (process_of(timeline, steps.thread[step]) == place.place.process) ends.push_back(steps.end_ns[step]);
  }
  std::sort(ends.begin(), ends.end());
  StepMemory memory;
  for (const std::int64_t end : ends) memory.end_bytes.push_back(place.level_at(timeline, end));
  return memory;
}

void add(AllocatedBytes& to, const AllocatedBytes& bytes) noexcept {
  to.host = plus(to.host, bytes.host);
  to.device = plus(to.device, bytes.device);
}

void subtract(AllocatedBytes& from, const AllocatedBytes& bytes) noexcept {
  from.host = minus(from.host, bytes.host);
  from.device = minus(from.device, bytes.device);
}

MemoryByTime::MemoryByTime(const Timeline& timeline) {
  const AllocatorEventTable& memory = timeline.allocator_events;
  up_to_.emplace_back();
  for (const std::uint32_t row : rows_by_time(memory)) {
    AllocatedBytes sum = up_to_.back();
    std::int64_t& side = memory.device[row] < 0 ? sum.host : sum.device;
    side = plus(side, change_of(memory, row));
    times_.push_back(memory.time_ns[row]);
    up_to_.push_back(sum);
  }
}

AllocatedBytes MemoryByTime::between(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  near_ = first_from(near_, [&](std::size_t i) { return times_[i] >= begin_ns; });
  const std::size_t last = std::max(near_, first_from(near_, [&](std::size_t i) { return times_[i] > end_ns; }));
  AllocatedBytes bytes = up_to_[last];
  subtract(bytes, up_to_[near_]);
  return bytes;
}

/// The first event that is behind; `is_behind` is false and then true for ever. Steps that double lead away from `from`
/// until the place is passed.
template <typename IsBehind>
std::size_t MemoryByTime::first_from(std::size_t from, IsBehind is_behind) const noexcept {
  std::size_t low = from, high = from;  // what is before `low` is not behind, `high` and what follows is
  if (from < times_.size() && !is_behind(from)) {
    for (std::size_t step = 1; high < times_.size() && !is_behind(high); step *= 2) {
      low = high + 1;
      high = std::min(times_.size(), low + step);
    }
  } else {
    for (std::size_t step = 1; low > 0 && is_behind(low - 1); step *= 2) {
      high = low - 1;
      low = high - std::min(high, step);
    }
  }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is_behind(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace rangefinder::analysis
