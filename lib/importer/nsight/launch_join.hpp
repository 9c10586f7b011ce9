// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

namespace rangefinder::importer::nsight {

/// Finds for every activity the API call of its process with its correlation id, and makes a launch of each call so
/// found, ordered by thread and time. Of several calls with one id (a runtime call and the driver call inside it) the
/// outermost is the launch.
void join_launches(Timeline& timeline);

}  // namespace rangefinder::importer::nsight
