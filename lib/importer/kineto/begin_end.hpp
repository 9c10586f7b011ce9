// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/event.hpp"

#include <rangefinder/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::importer::kineto {

/// Slices written as two events, ph B and E. Kineto writes none, other tools and hand-edited traces do. They may stand
/// anywhere in the file, so their text is kept and they are paired at the end, by time within each thread.
class BeginEndPairs {
 public:
  void add(const Event& event, ThreadIndex thread, std::int64_t source_row);
  bool empty() const noexcept { return halves_.empty(); }
  /// Memory of halves and their texts, with what is in reserve.
  std::uint64_t kept_bytes() const noexcept { return halves_.capacity() * sizeof(Half) + text_.capacity(); }

  /// Calls `complete(event, source_row)` for each pair with a whole event, phase X; those never ended last until
  /// `last_ns` and are marked unfinished. Returns how many ends had no begin.
  template <typename Complete>
  std::uint64_t pair_up(std::int64_t last_ns, Complete&& complete) {
    std::uint64_t unmatched_ends = 0;
    std::vector<const Half*> open;
    sort();
    text_.append(kPadding, '\0');
    for (std::size_t i = 0; i < halves_.size(); ++i) {
      const Half& half = halves_[i];
      if (half.begin) {
        open.push_back(&half);
      } else if (open.empty()) {
        ++unmatched_ends;
      } else {
        complete(whole(*open.back(), half.time_ns, false), open.back()->source_row);
        open.pop_back();
      }
      const bool last_of_thread = i + 1 == halves_.size() || halves_[i + 1].thread != half.thread;
      for (; last_of_thread && !open.empty(); open.pop_back())
        complete(whole(*open.back(), last_ns, true), open.back()->source_row);
    }
    return unmatched_ends;
  }

 private:
  struct Half {
    std::int64_t time_ns;
    std::int64_t source_row;
    std::uint64_t text;  ///< where its JSON begins in text_
    std::uint64_t text_size;
    ThreadIndex thread;
    bool begin;
  };

  void sort();
  const Event& whole(const Half& begin, std::int64_t end_ns, bool unfinished);

  std::vector<Half> halves_;
  std::string text_;
  EventReader reader_;
  Event event_;
};

}  // namespace rangefinder::importer::kineto
