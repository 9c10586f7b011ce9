// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <vector>

// Copies so small that each costs its launch and not its bytes.
namespace rangefinder::advice {

class Change;
class Context;

/// Many of one process, direction and step, in order: one copy of all of them would do. Not those to the host that are
/// waited for one by one: they are waits.
using SmallCopies = std::vector<ActivityIndex>;

/// Context::small_copies() keeps them.
std::vector<SmallCopies> small_copies_of(Context& context);

/// The first of them stays.
void merge_copies(const Timeline& timeline, const SmallCopies& copies, Change& change);

}  // namespace rangefinder::advice
