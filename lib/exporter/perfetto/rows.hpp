// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/track_table.hpp"
#include "exporter/perfetto/packets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::perfetto {

/// Numbers that a sequence has introduced.
class KnownIds {
 public:
  /// True for one that is new.
  bool add(std::uint32_t id) {
    if (id >= known_.size()) known_.resize(std::size_t{id} + id / 2 + 16);
    if (known_[id]) return false;
    return known_[id] = true;
  }

 private:
  std::vector<bool> known_;
};

/// When events of a trace are. Perfetto has no times below 0.
class Clock {
 public:
  Clock() = default;
  /// `first_ns`: the trace's own beginning; `realtime_ns`: wall time then, nothing where that is not known.
  Clock(std::int64_t first_ns, std::optional<std::int64_t> realtime_ns) noexcept
      : shift_ns_(first_ns < 0 ? -std::max(first_ns, -std::numeric_limits<std::int64_t>::max()) : 0),
        begin_ns_(at(first_ns)),
        realtime_ns_(realtime_ns) {}

  std::int64_t at(std::int64_t time_ns) const noexcept {
    std::int64_t shifted = 0;
    if (__builtin_add_overflow(time_ns, shift_ns_, &shifted)) return std::numeric_limits<std::int64_t>::max();
    return shifted < 0 ? 0 : shifted;
  }
  std::int64_t begin_ns() const noexcept { return begin_ns_; }
  std::optional<std::int64_t> realtime_ns() const noexcept { return realtime_ns_; }

 private:
  std::int64_t shift_ns_ = 0;
  std::int64_t begin_ns_ = 0;
  std::optional<std::int64_t> realtime_ns_;
};

/// When slices of a row began that were written lately. Readers put events in order of time, and those of equal time in
/// order of the file; an end closes what began last. Slices come in order, outer ones first, but only a stretch at a
/// time: where one ends just when a slice begins that is written already, or begins with one inside of it, ends would
/// close the wrong slices.
class RecentBegins {
 public:
  /// Takes a slice, unless its end or that of one before would close another one.
  bool take(std::int64_t begin_ns, std::int64_t end_ns) {
    const Entry* const next = end_ns > begin_ns ? find(end_ns) : nullptr;
    if (next != nullptr && next->first_end_ns > end_ns) return false;
    Entry* const same = find(begin_ns);
    if (same == nullptr) {
      if (added_ == entries_.size() && added_ < kMost) grow();
      insert(begin_ns, end_ns);
      return true;
    }
    const bool has_length = same->first_end_ns > begin_ns;
    if (has_length && same->first_end_ns < end_ns) return false;
    if (end_ns > begin_ns) same->first_end_ns = end_ns;
    return true;
  }

 private:
  // As many as a thread has between a call and the chunk of the file that has it.
  static constexpr std::size_t kFewest = 64;
  static constexpr std::size_t kMost = std::size_t{1} << 14;
  struct Entry {
    std::int64_t begin_ns = 0;
    std::int64_t first_end_ns = 0;  ///< of slices with that begin; the same time: they have no length
    std::uint32_t before = 0;       ///< the one before in the same place; they count from 1
  };

  std::size_t place_of(std::int64_t time_ns) const noexcept {
    return (static_cast<std::uint64_t>(time_ns) * 0x9E3779B97F4A7C15u >> 32) & (entries_.size() - 1);
  }
  Entry* find(std::int64_t time_ns) noexcept {
    if (entries_.empty()) return nullptr;
    std::uint32_t number = newest_[place_of(time_ns)];
    while (number != 0 && added_ - number < entries_.size()) {
      Entry& entry = entries_[number & (entries_.size() - 1)];
      if (entry.begin_ns == time_ns) return &entry;
      number = entry.before;
    }
    return nullptr;
  }
  void insert(std::int64_t begin_ns, std::int64_t end_ns) {
    std::uint32_t& newest = newest_[place_of(begin_ns)];
    entries_[++added_ & (entries_.size() - 1)] = {begin_ns, end_ns, newest};
    newest = added_;
  }
  void grow() {
    const std::vector<Entry> before = std::move(entries_);
    entries_.assign(std::max(kFewest, before.size() * 4), {});
    newest_.assign(entries_.size(), 0);
    const std::uint32_t many = std::exchange(added_, 0);
    for (std::uint32_t i = 1; i <= many; ++i) {
      const Entry& entry = before[i & (before.size() - 1)];
      insert(entry.begin_ns, entry.first_end_ns);
    }
  }

  std::vector<Entry> entries_;         // a ring; a power of two
  std::vector<std::uint32_t> newest_;  // by place
  std::uint32_t added_ = 0;            // more than fit into it only make it forget
};

/// Some readers take the number in a packet for its time, whatever clock that counts by, put the packets of a row in
/// order of it, and want no end before its begin. A begin may have a number above the one of its end where enough other
/// slices are open at all numbers between.
class NumberOrder {
 public:
  /// Takes a slice with these numbers, unless it would be one end too many.
  bool take(std::uint64_t begin, std::uint64_t end) noexcept {
    std::size_t first = place_of(begin), last = place_of(end);
    if (begin <= end) {
      // Only where it is open throughout.
      for (++first; first < last; ++first) ++open_[first];
      return true;
    }
    std::swap(first, last);
    for (std::size_t i = first; i <= last; ++i)
      if (open_[i] == 0) return false;
    for (std::size_t i = first; i <= last; ++i) --open_[i];
    return true;
  }

 private:
  static constexpr int kBits = 2;  // four for each power of two
  static std::size_t place_of(std::uint64_t number) noexcept {
    constexpr std::uint64_t kFirst = std::uint64_t{1} << kBits;
    if (number < kFirst) return number;
    const int shift = static_cast<int>(std::bit_width(number)) - 1 - kBits;
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(number >> shift);
  }
  std::array<std::uint32_t, 256> open_{};  // at least so many at each number
};

/// A packet sequence: its packets need not name the row, and their times are the distance to the one before. What it
/// has introduced, it refers to by numbers.
struct Sequence {
  std::uint32_t id = 0;
  std::int64_t last_ns = 0;  ///< what the next distance counts from
  KnownIds names, categories, keys, texts, specifications, contexts;
  bool has_queue = false;
};

/// A row of the viewer. The end of a slice is written right behind its begin, so that what is inside of it begins
/// before the last time of its sequence: a row has a sequence for about each level of nesting.
struct Row {
  chrome::TrackId track = chrome::kNoTrack;
  std::uint64_t uuid = 0;
  bool is_described = false;
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::uint32_t without_sequence = 0;  ///< events that began before the last one of each sequence
  RecentBegins begins;
  NumberOrder numbers;
  /// Of events that are held.
  struct Place {
    std::int64_t begin_ns, end_ns;
    std::uint32_t held;
  };
  std::vector<Place> places;
  // Of a row for slices that cannot stand on their own.
  std::uint32_t extra = 0;  ///< 0: it is the row itself
  std::int64_t busy_from_ns = 0, busy_to_ns = 0;
  Row* next_extra = nullptr;
  std::map<std::uint32_t, Row*> counters;  ///< by name
};

/// Finds rows by the ids of their events, and describes them when they are first used: a trace that is cut off has the
/// names of what is in it.
class Rows {
 public:
  explicit Rows(Packets& packets) noexcept : packets_(packets) {}

  void use(const chrome::TrackTable& table, const Clock& clock) {
    table_ = &table;
    clock_ = clock;
  }
  /// Null: no row has these ids.
  Row* find(std::string_view ids);
  /// Where a slice can stand: the row, or one beside it. It is taken for written.
  Row& place(Row& row, std::int64_t begin_ns, std::int64_t end_ns);
  /// The one whose last time is the closest before; where there is none, the row's first one.
  Sequence& sequence(Row& row, std::int64_t time_ns);
  /// Before the first event on the row's own track.
  void describe(Row& row);
  /// Of a series of samples, below the row; described when it is first asked for.
  Row& counter_of(Row& row, std::uint32_t name, std::string_view text);

  const chrome::Track& track(const Row& row) const noexcept { return table_->track(row.track); }
  const chrome::TrackGroup& group(const Row& row) const noexcept { return table_->group(track(row).group); }
  /// The same for all rows of a process: 0 for the first process that asks, 1 for the next one.
  std::uint64_t process_number(const Row& row);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };

  Row* make(std::string_view ids);
  Row& add(chrome::TrackId track, std::uint32_t extra);
  Sequence& add_sequence(Row& row);
  std::uint64_t group_uuid(const Row& row);
  void write_descriptor(const Row& row, const std::string& descriptor);

  Packets& packets_;
  const chrome::TrackTable* table_ = nullptr;
  Clock clock_;
  std::deque<Row> rows_;
  std::unordered_map<std::string, Row*, Hash, std::equal_to<>> by_ids_;
  std::array<Row*, 64> recent_{};  // by where their ids are
  std::map<chrome::GroupId, std::uint64_t> group_uuids_;
  std::map<std::int64_t, std::uint64_t> process_numbers_;
  std::uint64_t next_uuid_ = 1;
  std::uint32_t next_sequence_ = 2;  // 1 is that of the trace itself
};

}  // namespace rangefinder::perfetto
