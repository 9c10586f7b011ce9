// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/launch_configurations.hpp"
#include "report/table.hpp"

#include <rangefinder/timeline.hpp>

namespace rangefinder::report {

/// The view `launches`, of a timeline or of the windows of a capture.
Table table_of_launches(const Timeline& timeline, const analysis::LaunchConfigurations& configurations);

}  // namespace rangefinder::report
