// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <string>
#include <vector>

namespace rangefinder::importer {

/// Reads traces of torch.profiler, one a rank, as the processes of one job. Their clocks are put together as those of
/// captures are: by wall clock, and by what their collectives say beyond that. Traces that do not name a host are taken
/// to be of one each, since nothing tells that their clocks are the same.
///
/// kUnsupported with LoadOptions::keep_arguments: what only an export needs is read of one trace at a time.
Result<Timeline> load_traces(const std::vector<std::string>& paths, const LoadOptions& options);

}  // namespace rangefinder::importer
