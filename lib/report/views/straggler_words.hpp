// SPDX-License-Identifier: MIT
#pragma once

#include "report/view.hpp"

#include <rangefinder/analysis/stragglers.hpp>

// What the views `stragglers` and `ranks` have in common.
namespace rangefinder::report {

/// As a view's options ask for it.
Result<Stragglers> stragglers_of(const ProjectedTimeline& projected, const ViewOptions& options);

/// What no row says: why nobody was judged, what was missing.
void note_straggler_input(const Stragglers& found, const char* view, Table& table);

}  // namespace rangefinder::report
