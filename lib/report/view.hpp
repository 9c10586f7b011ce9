// SPDX-License-Identifier: MIT
#pragma once

#include "report/csv.hpp"
#include "report/projected_timeline.hpp"
#include "report/table.hpp"

#include <rangefinder/report.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>

// A view is a question with a table for an answer: a list of columns (columns.hpp) over the rows that an analysis
// makes. To add one: write `const View name{...}` in a file of views/, and its name on the list in registry.cpp.
namespace rangefinder::report {

/// What stands behind a view's name: `steps:summary`, `cuda_gpu_kern_sum:nvtx-name:base`.
enum Variant : unsigned {
  kNoVariant = 0,
  kBase = 1,      ///< kernels by the function's own name
  kMangled = 2,   ///< kernels by their mangled name
  kNvtxName = 4,  ///< kernels with the innermost range around their launch in front
  kSummary = 8,   ///< figures of all rows instead of the rows
};

/// What a view can have rows by (ReportOptions::by).
enum By : unsigned {
  kByNothing = 0,
  kByStep = 1,
  kByRange = 2,
  kByReason = 4,
  kByOperator = 8,
};
inline constexpr std::pair<By, std::string_view> kByWords[] = {
    {kByStep, "step"}, {kByRange, "range"}, {kByReason, "reason"}, {kByOperator, "operator"}};

/// What a user asked of a view. Views read the user's own options; those of other views mean nothing to them.
struct ViewOptions : ReportOptions {
  unsigned variants = kNoVariant;  ///< Variant

  bool is(Variant variant) const noexcept { return (variants & variant) != 0; }
};

/// What a view cannot answer without, and what is loaded for it.
enum Needs : unsigned {
  kNeedsNothing = 0,
  kNeedsRanges = 1,
  kNeedsActivities = 2,
  kNeedsCalls = 4,
  kNeedsOperators = 8,
  kNeedsSteps = 16,
  kNeedsMemory = 32,
  kNeedsAllocatorCounts = 64,
  kNeedsDeviceSamples = 128,
  kNeedsCpuCounters = 256,
  kNeedsCounters = 512,
  kNeedsWaits = 1024,
  kNeedsOverheads = 2048,
  kNeedsKernels = 4096,
  kNeedsAllocations = 8192,
  kNeedsGraphs = 16384,
  kNeedsCollectives = 32768,
  kNeedsNodes = 65536,
  kReadsInputs = 131072,  ///< of operators, where they were recorded: LoadOptions::operator_inputs
};

/// The view's table, as it is without a filter, an order and a choice of columns.
using MakeView = Result<Table>(const ProjectedTimeline& projected, const ViewOptions& options);

struct View {
  std::string_view name;
  std::string_view description;
  unsigned needs;  ///< Needs
  MakeView* make;
  unsigned variants = kNoVariant;  ///< Variant: those that it has
  /// Nsight's report of that name: equal to it line by line as CSV, so texts are written as they are.
  bool compatible = false;
  unsigned by = kByNothing;  ///< By: those that it has
};

/// How the view is written as CSV by default: formulas are defused but where texts must stay equal.
CsvOptions csv_options_for(const View& view) noexcept;

/// All of them, in the order of the list.
std::span<const View* const> views();

/// By name, with variants as Nsight writes them: `cuda_gpu_kern_sum:nvtx-name:base`. They are put into
/// options.variants.
///
/// Errors: kNotFound with the nearest name; kInvalidArgument for a variant that the view does not know.
Result<const View*> find_view(std::string_view name, ViewOptions& options);

/// What the timeline lacks for the view, as a sentence; empty when it has something of everything. `met`: needs that
/// are not asked of it, since what other windows had of a capture may meet them.
std::string missing_for(const View& view, const Timeline& timeline, unsigned met = kNeedsNothing);

/// The view's table, filtered, sorted and cut as the options say.
///
/// Errors: of the view; kInvalidArgument for a broken expression or a column that is not there, with the nearest name.
Result<Table> make_table(const View& view, const ProjectedTimeline& projected, const ViewOptions& options);

}  // namespace rangefinder::report
