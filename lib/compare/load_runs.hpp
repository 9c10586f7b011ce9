// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <string>
#include <vector>

namespace rangefinder::compare {

/// The runs of a path: a file is one, but a baseline (baseline_file.hpp) has those that were saved; of a folder, each
/// folder in it is one, and its files are one job where each is of another rank, and else a run each.
///
/// Errors: as of load_timeline.
/// Memory: as of the largest run.
Result<std::vector<Run>> load_runs(const std::string& path, const LoadOptions& load, const RunOptions& options);

}  // namespace rangefinder::compare
