// SPDX-License-Identifier: MIT
#pragma once

#include "base/json_writer.hpp"
#include "compare/run_figures.hpp"

#include <rangefinder/compare.hpp>

#include <span>
#include <string>

namespace rangefinder::compare {

/// What reports say of a side.
ComparedSide compared_side(std::span<const Run> runs);

/// A side as a JSON object.
void append_json(std::string& out, const ComparedSide& side, const base::JsonStyle& style = {});

}  // namespace rangefinder::compare
