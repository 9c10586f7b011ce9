// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <rangefinder/report.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

namespace rangefinder::bench {

/// A view of `rangefinder report` as JSON, so that the harness has the figures that the command shows. `options.format`
/// is set here. Errors: as of write_report.
Result<Json> report_view(const Timeline& timeline, ReportOptions options);

}  // namespace rangefinder::bench
