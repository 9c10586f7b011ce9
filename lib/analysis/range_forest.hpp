// SPDX-License-Identifier: MIT
#pragma once

#include "projection/flat_map.hpp"

#include <rangefinder/projection.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// The ranges of a projection as they nest. Each question takes the same time however deep they nest, and none
/// recurses.
///
///   const RangeForest forest(projection);
///   forest.walk([&](RangeIndex range) { ++open[name(range)]; }, [&](RangeIndex range) { --open[name(range)]; });
///
/// Cost: O(ranges); 4 bytes each.
class RangeForest {
 public:
  explicit RangeForest(const Projection& projection);

  /// `enter` before the ranges inside it, `leave` after them; siblings in order of their rows.
  template <typename Enter, typename Leave>
  void walk(Enter enter, Leave leave) const {
    std::vector<RangeIndex> open;
    const auto leave_from = [&](std::size_t depth) {
      for (; open.size() > depth; open.pop_back()) leave(open.back());
    };
    for (const RangeIndex range : order_) {
      leave_from(projection_.depth[range]);
      open.push_back(range);
      enter(range);
    }
    leave_from(0);
  }

  /// Adds what each range has to the range around it, innermost first: `add(values[parent], values[range])`.
  template <typename Value, typename Add>
  void add_to_parents(std::vector<Value>& values, Add add) const {
    for (auto range = order_.rbegin(); range != order_.rend(); ++range) {
      const RangeIndex parent = projection_.parent[*range];
      if (parent != kNone) add(values[parent], values[*range]);
    }
  }

  /// Outer ranges before those inside them, as a walk enters them.
  std::span<const RangeIndex> order() const noexcept { return order_; }

 private:
  const Projection& projection_;
  std::vector<RangeIndex> order_;
};

/// Whether a range of the same key is around the range: `key(range)` gives 64 bits, say of its name.
template <typename Key>
std::vector<bool> inside_their_like(std::size_t ranges, const RangeForest& forest, Key key) {
  std::vector<bool> inside(ranges);
  projection::FlatMap outermost;  // by key, of the ranges around the one at hand
  forest.walk(
      [&](RangeIndex range) {
        inside[range] = outermost.find(key(range)) != projection::FlatMap::kAbsent;
        if (!inside[range]) outermost.set(key(range), range);
      },
      [&](RangeIndex range) {
        if (!inside[range]) outermost.erase(key(range));
      });
  return inside;
}

}  // namespace rangefinder::analysis
