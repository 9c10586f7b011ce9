// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"
#include "report/table.hpp"

#include <string>
#include <vector>

// Tables of a lab page, of a results document.
namespace rangefinder::bench {

/// Rows with the same baseline variant, in the order in which changes add up: those that change the baseline first.
/// Only rows whose outputs were right and that were timed.
struct Series {
  std::string name;
  std::vector<JsonView> rows;  ///< one at least
  /// The baseline variant, as measured beside the first row that has a profile, else beside the first.
  JsonView baseline;
};
std::vector<Series> measured_series(JsonView results);

/// Of each series the baseline, then a row per benchmark: throughput, speed-up over the row that it changes and over
/// the baseline, memory, accuracy, bottleneck.
report::Table changes_table(JsonView results);

/// Where the time of each series' baseline goes, five causes at most: operators by their own time (ranges, where no
/// operators were recorded), and parts of a step in which the device or the host waits. No rows without a profile.
report::Table causes_table(JsonView results);

/// Rows that failed, were skipped or missed what was expected, and why.
report::Table shortfalls_table(JsonView results);

}  // namespace rangefinder::bench
