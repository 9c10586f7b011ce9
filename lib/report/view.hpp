// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/device.hpp"
#include "report/csv.hpp"
#include "report/subject.hpp"
#include "report/table.hpp"

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

// A view is a question with a table for an answer. To add one: write `const View name{...}` in a file of views/, and
// its name on the list in registry.cpp.
namespace rangefinder::report {

struct ViewOptions {
  /// Rows whose name column contains this text; all when empty. Case counts.
  std::string filter;
  /// `filter` is an extended regular expression (POSIX) that must occur in the name.
  bool filter_is_regex = false;
  /// The column to sort by, as find_column takes it; the view's own order when empty. Numbers go down and texts up,
  /// unless a leading '+' (up) or '-' (down) says otherwise. Rows without a value come last.
  std::string sort;
  /// At most so many rows; 0: all.
  std::size_t top = 0;

  /// The columns to show, as find_column takes them, with commas between; the view's own when empty.
  std::string columns;

  /// One row an instance instead of one a name, in the views that have both.
  bool instances = false;
  /// Operators of one name and other shapes are other rows.
  bool by_shape = false;
  /// Of the view ranges: instances of one name and other payloads are other rows.
  bool by_payload = false;
  /// Of the view ranges: only instances for which this holds; see analysis::PayloadCondition.
  std::string payload;
  /// Of the view steps: what replaces the rules of analysis/step_rules.hpp.
  std::string step_names;
  /// Set by `:summary` behind a view's name: figures of all rows instead of the rows.
  bool summary = false;
  /// The tree: numbers in names count as one (layers.*), and what is deeper than so many ranges has no row; 0: all.
  bool fold = false;
  std::size_t depth = 0;
  /// Of the view roofline: the peaks of the machine; may be null.
  const MachinePeaks* peaks = nullptr;
  /// How kernels are named; set by `:base`, `:mangled` and `:nvtx-name` behind a view's name.
  analysis::nsight::KernelNaming kernel_naming;
};

/// What a view cannot answer without.
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
};

struct View {
  std::string_view name;
  std::string_view description;
  unsigned needs;  ///< Needs
  /// Variants that the view has: of "base mangled nvtx-name", which are Nsight's, and "summary".
  std::string_view suffixes;
  /// Nsight's report of that name: equal to it line by line as CSV, so texts are written as they are.
  bool compatible;
  Result<Table> (*make)(const Subject& subject, const ViewOptions& options);
};

/// How the view is written as CSV by default: formulas are defused but where texts must stay equal.
CsvOptions csv_options_for(const View& view) noexcept;

/// All of them, in the order of the list.
std::span<const View* const> views() noexcept;

/// By name, with suffixes as Nsight writes them: `cuda_gpu_kern_sum:nvtx-name:base`. Suffixes set
/// options.kernel_naming.
///
/// Errors: kNotFound with the nearest name; kInvalidArgument for a suffix that the view does not know.
Result<const View*> find_view(std::string_view name, ViewOptions& options);

/// What the timeline lacks for the view, as a sentence; empty when it has something of everything.
std::string missing_for(const View& view, const Timeline& timeline);

/// The view's table, filtered, sorted and cut as the options say.
///
/// Errors: of the view; kInvalidArgument for a broken expression or a column that is not there, with the nearest name.
Result<Table> make_table(const View& view, const Subject& subject, const ViewOptions& options);

}  // namespace rangefinder::report
