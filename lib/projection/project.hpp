// SPDX-License-Identifier: MIT
#pragma once

#include "projection/members.hpp"

#include <rangefinder/projection.hpp>

namespace rangefinder::projection {

/// project() without the figures by stream, which take a quarter of its memory where most ranges have device work:
/// the columns `*_streams` and `*_offset` stay empty, all others are the same. `members`: are filled; may be null.
Projection project_without_streams(const Timeline& timeline, const ProjectionOptions& options,
                                   Members* members = nullptr);

/// project() without any figures of ranges: `owner`, and all that does not tell of figures, is the same.
Projection project_owners(const Timeline& timeline, const ProjectionOptions& options);

}  // namespace rangefinder::projection
