// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

namespace rangefinder::projection {

/// project() without the figures by stream, which take a quarter of its memory where most ranges have device work:
/// the columns `*_streams` and `*_offset` stay empty, all others are the same.
Projection project_without_streams(const Timeline& timeline, const ProjectionOptions& options);

}  // namespace rangefinder::projection
