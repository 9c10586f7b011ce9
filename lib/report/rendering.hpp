// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/attribution_totals.hpp"
#include "report/footer.hpp"
#include "report/overview.hpp"
#include "report/sink.hpp"
#include "report/table.hpp"
#include "report/view.hpp"

#include <rangefinder/report.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rangefinder::report {

/// The table of a view and what stands around it. CSV has the table alone.
struct Rendering {
  const View& view;
  const Timeline& timeline;
  Table table;
  Footer footer{};
  std::optional<Overview> overview{};
  analysis::AttributionTotals attribution{};
  std::int64_t profiler_ns = 0;
  std::int64_t recorded_ns = 0;
  std::string missing{};  ///< see missing_for
};

/// Whether the report begins with the overview, if anything was recorded.
bool wants_overview(const ReportOptions& options, const View& view) noexcept;

Status write(Rendering rendering, const ReportOptions& options, const Sink& sink);

}  // namespace rangefinder::report
