// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"

#include <rangefinder/compare.hpp>

#include <span>

namespace rangefinder::compare {

/// What reports say of a side.
ComparedSide compared_side(std::span<const Run> runs);

}  // namespace rangefinder::compare
