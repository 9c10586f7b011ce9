// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/build.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

// The windows that CriticalPathGraph has functions for; their meaning is documented there.
namespace rangefinder::analysis::critical_path {

CriticalWindow whole_window(const Built& built);
std::vector<CriticalWindow> step_windows(const Built& built);
std::vector<CriticalWindow> run_windows(const Built& built, std::string_view name);
CriticalWindow window_between(const Built& built, std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace rangefinder::analysis::critical_path
