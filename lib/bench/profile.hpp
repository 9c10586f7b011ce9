// SPDX-License-Identifier: MIT
#pragma once

#include "bench/row.hpp"

#include <rangefinder/bench/worker.hpp>
#include <rangefinder/result.hpp>

#include <string>

namespace rangefinder::bench {

/// Tables of a profiled side: ranges with host and device time, operators and memory where they were recorded, what
/// recording cost against the timed steps of `side`. Writes the Chrome trace beside the capture, and at level deep,
/// where memory was recorded, a snapshot of it for PyTorch's memory viewer. `answer` is the worker's.
Result<Json> profile_of(const std::string& capture, const Json& answer, const SideResult& side, ProfileLevel level);

}  // namespace rangefinder::bench
