// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <functional>

namespace rangefinder::timeline {

/// Adds the processes of another timeline of the same format to a job, with all that they did. `moved` puts a time of
/// `from` on the clock of `to`; it keeps the order of times. What is kept as text for an export (arguments, foreign
/// events) and what describes the file (metadata, sources) is not added.
void append(Timeline& to, const Timeline& from, const std::function<std::int64_t(std::int64_t)>& moved);

}  // namespace rangefinder::timeline
