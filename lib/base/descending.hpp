// SPDX-License-Identifier: MIT
#pragma once

#include <compare>

namespace rangefinder::base {

/// A part of a sort key that goes down while the others go up:
///
///   std::tuple(thread, begin_ns, base::Descending{end_ns})  // outer ranges first
///
/// Not the negative: the least integer has none, and files can claim it.
template <typename Value>
struct Descending {
  Value value;

  friend constexpr bool operator==(const Descending& a, const Descending& b) { return a.value == b.value; }
  friend constexpr auto operator<=>(const Descending& a, const Descending& b) { return b.value <=> a.value; }
};
template <typename Value>
Descending(Value) -> Descending<Value>;

}  // namespace rangefinder::base
