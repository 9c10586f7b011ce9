// SPDX-License-Identifier: MIT
#pragma once

#include "projection/figures.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace rangefinder::projection {

/// Time covered by intervals that arrive one after another, each with its position in that order; every instant belongs
/// to the latest interval that covers it. So the union of the intervals from position p on is the time that belongs to
/// positions >= p, and that of every open range is kept up to date by moving lengths, never by sorting.
///
/// Cost: O(1) at the end, O(log n) plus a short move elsewhere; an interval is cut up at most once on average.
class Coverage {
 public:
  /// Adds [begin, end). `take(position, length)` hears of every part that belonged to an earlier position until now.
  template <typename Take>
  void cover(std::int64_t begin, std::int64_t end, std::uint32_t position, Take&& take) {
    if (end <= begin) return;
    if (chunks_.empty()) chunks_.push_back(fresh_chunk());
    Chunk& chunk = *chunks_.back();
    if (chunk.size > 0) {
      Segment& last = chunk.last();
      if (last.end > begin) {
        if (last.begin >= begin || last.end > end) return overwrite({begin, end, position}, take);
        take(last.position, minus(last.end, begin));  // only the last one is in the way, and only its tail
        last.end = begin;
      }
    }
    append({begin, end, position});
  }

  /// Drops what lies before `horizon`; nothing that is covered later may begin before it.
  void forget_before(std::int64_t horizon) {
    while (!chunks_.empty() && chunks_.front()->size > 0 && chunks_.front()->last().end <= horizon) {
      spare_.push_back(std::move(chunks_.front()));
      chunks_.pop_front();
    }
  }

  void clear() {
    for (auto& chunk : chunks_) spare_.push_back(std::move(chunk));
    chunks_.clear();
  }

 private:
  struct Segment {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t position;
  };
  // Segments are disjoint and ordered, in pieces small enough that an insertion in the middle moves little.
  static constexpr std::uint32_t kChunkSize = 256;
  struct Chunk {
    std::uint32_t size = 0;
    Segment segments[kChunkSize];
    Segment& last() noexcept { return segments[size - 1]; }
  };
  struct Place {
    std::size_t chunk;
    std::uint32_t index;
  };

  template <typename Take>
  void overwrite(const Segment& added, Take& take) {
    Place place = first_ending_after(added.begin);
    bool placed = false;
    while (place.chunk < chunks_.size()) {
      Segment& old = chunks_[place.chunk]->segments[place.index];
      if (old.begin >= added.end) break;
      take(old.position, minus(std::min(old.end, added.end), std::max(old.begin, added.begin)));
      if (old.begin < added.begin) {
        const Segment rest{added.end, old.end, old.position};
        old.end = added.begin;
        place = insert(next(place), added);
        placed = true;
        if (rest.begin < rest.end) {
          insert(next(place), rest);
          return;
        }
        place = next(place);
      } else if (old.end > added.end) {
        old.begin = added.end;
        break;
      } else if (!placed) {
        old = added;  // covered whole: its place is free
        placed = true;
        place = next(place);
      } else {
        place = erase(place);
      }
    }
    if (!placed) insert(place, added);
  }

  void append(const Segment& segment) {
    if (chunks_.back()->size == kChunkSize) chunks_.push_back(fresh_chunk());
    Chunk& chunk = *chunks_.back();
    chunk.segments[chunk.size++] = segment;
  }

  Place first_ending_after(std::int64_t time) {
    std::size_t chunk = chunks_.size() - 1;
    if (chunk > 0 && chunks_[chunk - 1]->last().end > time) {
      const auto found = std::partition_point(chunks_.begin(), chunks_.end(),
                                              [time](const auto& candidate) { return candidate->last().end <= time; });
      chunk = static_cast<std::size_t>(found - chunks_.begin());
    }
    const Segment* segments = chunks_[chunk]->segments;
    const Segment* found = std::partition_point(segments, segments + chunks_[chunk]->size,
                                                [time](const Segment& candidate) { return candidate.end <= time; });
    return {chunk, static_cast<std::uint32_t>(found - segments)};
  }

  Place next(Place place) const {
    return place.index + 1 < chunks_[place.chunk]->size ? Place{place.chunk, place.index + 1}
                                                        : Place{place.chunk + 1, 0};
  }

  /// Before `place`; returns where it went.
  Place insert(Place place, const Segment& segment) {
    if (place.index == 0 && place.chunk > 0) place = {place.chunk - 1, chunks_[place.chunk - 1]->size};
    if (chunks_[place.chunk]->size == kChunkSize) place = make_room(place);
    Chunk& chunk = *chunks_[place.chunk];
    std::move_backward(chunk.segments + place.index, chunk.segments + chunk.size, chunk.segments + chunk.size + 1);
    chunk.segments[place.index] = segment;
    ++chunk.size;
    return place;
  }

  Place make_room(Place place) {
    const auto after = chunks_.begin() + static_cast<std::ptrdiff_t>(place.chunk) + 1;
    if (place.index == kChunkSize) {  // at its end: leave it full
      chunks_.insert(after, fresh_chunk());
      return {place.chunk + 1, 0};
    }
    auto upper = fresh_chunk();
    Chunk& lower = *chunks_[place.chunk];
    constexpr std::uint32_t kHalf = kChunkSize / 2;
    std::copy(lower.segments + kHalf, lower.segments + kChunkSize, upper->segments);
    lower.size = kHalf;
    upper->size = kChunkSize - kHalf;
    chunks_.insert(after, std::move(upper));
    return place.index <= kHalf ? place : Place{place.chunk + 1, place.index - kHalf};
  }

  Place erase(Place place) {
    Chunk& chunk = *chunks_[place.chunk];
    std::move(chunk.segments + place.index + 1, chunk.segments + chunk.size, chunk.segments + place.index);
    if (--chunk.size == 0) {
      spare_.push_back(std::move(chunks_[place.chunk]));
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(place.chunk));
      return {place.chunk, 0};
    }
    return place.index < chunk.size ? place : Place{place.chunk + 1, 0};
  }

  std::unique_ptr<Chunk> fresh_chunk() {
    if (spare_.empty()) return std::make_unique<Chunk>();
    auto chunk = std::move(spare_.back());
    spare_.pop_back();
    chunk->size = 0;
    return chunk;
  }

  std::deque<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::unique_ptr<Chunk>> spare_;
};

}  // namespace rangefinder::projection
