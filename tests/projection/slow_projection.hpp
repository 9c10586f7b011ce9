// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

namespace rangefinder::testing {

/// The definitions of docs/explanation/projection.md, written down without a thought for speed: every launch against
/// every range, every figure from a list of intervals. Shares no code with the library's.
Projection project_slowly(const Timeline& timeline, const ProjectionOptions& options);

/// Throws std::logic_error with the place and both values where two projections of one timeline differ.
void require_equal(const Projection& expected, const Projection& actual);

/// Throws where an account does not add up, or does not fit the owners.
void require_sound_account(const Timeline& timeline, const Projection& projection);

}  // namespace rangefinder::testing
