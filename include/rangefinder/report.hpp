// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder {

enum class ReportFormat : std::uint8_t {
  kText,  ///< aligned columns for people; times in readable units
  kCsv,   ///< RFC 4180; exact numbers, units in the header
  kJson,  ///< one object with schema_version, columns, rows, account and health; exact numbers
};

/// What to show of a timeline, and how.
struct ReportOptions {
  /// One of report_views(), for example "ranges", "tree", "kernels", "nvtx_gpu_proj_sum:base".
  std::string view = "ranges";
  ReportFormat format = ReportFormat::kText;
  /// One row per instance instead of one per name, in the views that have both.
  bool instances = false;
  /// The view ops: one row per name and shapes of inputs; write_report needs LoadOptions::operator_inputs.
  bool by_shape = false;
  /// The view ranges: one row per name and payload.
  bool by_payload = false;
  /// The view ranges: only instances whose payload matches, in rows and figures: ">=64", "=json", or for ranges of one
  /// name "batch>=64"; operators = != < <= > >=.
  std::string payload;
  /// The view steps: which ranges are which part of a step, if their names are not the usual ones (docs/how-to/
  /// watch-steps.md): "data=my_loader*,fetch*;forward=fwd".
  std::string step_names;
  /// The view breakdown: "step": one row per device and step; "range": one per device and name of range; empty: one per
  /// device. The views families and launch_queue: "range". The view critical_path: "reason" (the same as empty),
  /// "range", "operator"; "step": one row per step.
  std::string by;
  /// The view critical_path: of what. "step:12", "range:forward" (all of its runs), "time:1000..5000" (nanoseconds
  /// since the begin of the recording), "steps", "all"; empty: all steps, without steps the whole recording.
  std::string of;
  /// The view tree: merges names that differ in numbers only: layers.0 and layers.1 become one row, layers.*.
  bool fold = false;
  /// The view tree: at most so many levels; deeper ranges count for their ancestor at that level; 0: all.
  std::size_t depth = 0;
  /// Rows whose name contains this, or matches it where `filter_is_regex`.
  std::string filter;
  bool filter_is_regex = false;
  /// Column to sort by; prefix "+": ascending, "-": descending. Empty: the view's own order.
  std::string sort;
  /// Maximum number of rows; 0: all.
  std::size_t top = 0;
  /// Columns to show instead of the view's own, in this order: titles or keys separated by commas,
  /// "range,count,host_p95_ns". "help": the report lists the columns.
  std::string columns;
  /// The view ranges begins, in text and JSON, with the overview: what the capture is, how busy devices and host were,
  /// the largest owners, what was lost, what to look at next. Not with instances, a filter or a payload condition.
  bool overview = true;
  ProjectionOptions projection;
  /// For the view roofline: the peaks of the machine (bench::read_peaks); null: figures without shares of a peak.
  const MachinePeaks* peaks = nullptr;

  /// The output goes to a terminal: CSV escapes control characters as text does. JSON always does.
  bool terminal = false;

  // Text only.
  bool utf8 = true;
  bool colour = false;
  /// Text shows points in time on the timeline's clock, as CSV and JSON do; false: since its begin.
  bool absolute_times = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
};

struct ReportViewInfo {
  std::string_view name;
  std::string_view description;
  bool nsight_compatible;  ///< equals Nsight Systems' report of that name
};

/// Every view, in the order in which they are listed.
RANGEFINDER_EXPORT std::vector<ReportViewInfo> report_views();

/// Writes a report through `sink`, which returns false to stop (kIo then). Text and JSON end with the account of all
/// device time and with what the recording lost. With attribution kAuto or kCapture, launches of CUDA graphs that were
/// recorded as a whole are divided first (split_graph_launches), except for Nsight's views; where there are any, in a
/// copy of the timeline.
///
/// Errors: kNotFound for an unknown view, with the nearest name; kInvalidArgument for a broken expression or column.
RANGEFINDER_EXPORT Status write_report(const Timeline& timeline, const ReportOptions& options,
                                       const std::function<bool(std::string_view)>& sink);

/// The report of files: load_job and write_report. Of one long capture, views that add up (a row per name or path),
/// most of Nsight's, and lists with `top` are read window by window, in memory that does not grow with the capture.
///
/// Errors: as of load_job and write_report.
RANGEFINDER_EXPORT Status report_files(const std::vector<std::string>& paths, const LoadOptions& load,
                                       const ReportOptions& options, const std::function<bool(std::string_view)>& sink);

/// The report of a file as text: report_files.
RANGEFINDER_EXPORT Result<std::string> render_report(const std::string& path, const ReportOptions& options = {});

}  // namespace rangefinder
