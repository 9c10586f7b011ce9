// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/range_rollup.hpp"
#include "analysis/recording_totals.hpp"
#include "report/table.hpp"
#include "report/views/payload_columns.hpp"

#include <rangefinder/timeline.hpp>

namespace rangefinder::report {

/// What the views `ranges` and `tree` show, of a timeline or of the windows of a capture.
struct RangeReport {
  const Timeline& timeline;  ///< has the names
  const analysis::RecordingFacts& facts;
};

/// A row a name.
Table table_of_names(const RangeReport& report, const analysis::RangeGroups& groups,
                     const common::PayloadStatistics& payloads);
/// A row a path.
Table table_of_paths(const RangeReport& report, const analysis::PathTree& tree);

}  // namespace rangefinder::report
