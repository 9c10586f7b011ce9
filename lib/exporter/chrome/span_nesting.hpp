// SPDX-License-Identifier: MIT
#pragma once

#include "projection/flat_map.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rangefinder::chrome {

/// Ranges around each other on a device's row. More is not readable, and a hostile input could have any number.
inline constexpr std::uint32_t kMaxSpanDepth = 64;

/// Which ranges can lie on a stream's row as slices inside slices, by the order of the stream's activities alone.
///
/// A range lasts from the first to the last activity launched in it. Streams work in order, so those spans nest as the
/// ranges do on their thread; two cut each other only where two threads launch alternately on one stream. Of two that
/// cut each other, the one that began later cannot stay.
class SpanNesting {
 public:
  using Key = std::uint64_t;  // not 0; greater for ranges that began later

  /// Of more ranges than `most` that have begun and not ended, all are forgotten, and cannot stay.
  explicit SpanNesting(std::size_t most = std::numeric_limits<std::size_t>::max()) noexcept : most_(most) {}

  /// An activity launched in range `innermost`; `parent_of` gives the range around one, or 0. Returns the ranges that
  /// begin with this activity, innermost first; valid until the next call.
  template <typename ParentOf>
  const std::vector<Key>& add(Key innermost, ParentOf&& parent_of) {
    begun_.clear();
    if (!open_.empty() && open_.back() == innermost) return begun_;
    Key at = innermost;
    for (; at != 0; at = parent_of(at)) {
      const std::uint32_t state = states_.find(at);
      if (state == kOpen) break;
      if (state != States::kAbsent)
        states_.set(at, kCuts);  // others have begun and ended inside and outside of it
      else if (at > forgotten_to_)
        begun_.push_back(at);
    }
    if (at != 0) close_inside(at);
    open_begun();
    return begun_;
  }

  /// Whether a range that has begun can lie on the row; nothing more of it comes.
  bool end(Key key);

 private:
  using States = projection::FlatMap;
  enum State : std::uint32_t { kOpen, kClosed, kCuts };

  void close_inside(Key key);
  void open_begun();

  std::size_t most_;
  Key forgotten_to_ = 0;
  States states_;
  std::vector<Key> open_;  // innermost last; holds on to some that have ended
  std::vector<Key> begun_;
};

}  // namespace rangefinder::chrome
