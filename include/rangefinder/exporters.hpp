// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// Writing what was recorded or imported in the formats of other tools.
namespace rangefinder {

enum class ExportCompression : std::uint8_t {
  kBySuffix,  ///< gzip when the output's name ends in .gz
  kPlain,
  kGzip,
};

/// What goes into a Chrome JSON trace. Host ranges and device activities always do.
struct ChromeExportOptions {
  ExportCompression compression = ExportCompression::kBySuffix;
  /// An earlier file of that name: true replaces it, false makes the export fail with kExists.
  bool replace = false;
  /// Indented; a third larger.
  bool pretty = false;

  bool api_calls = true;
  bool syncs = true;
  bool overheads = true;
  bool counters = true;
  bool flows = true;  ///< arrows from a launch to its activities, from a forward to its backward operator
  /// Ranges on the device, as gpu_user_annotation, above the work on the row of each stream: from the first to the last
  /// activity that was launched in the range, ranges inside included.
  bool inclusive_ranges = true;
  /// Where `inclusive_ranges` is false: from the first to the last activity whose innermost range it is, as
  /// torch.profiler has them.
  bool exclusive_ranges = true;
  /// Attribution of device work, as of reports. With any but kLaunch the rows of ranges tell forward and backward work
  /// apart if the input has autograd nodes. With kAuto and kCapture launches of CUDA graphs that were recorded as a
  /// whole are divided among the ranges that captured them; this estimate is marked.
  Attribution attribution = Attribution::kAuto;

  /// Only what overlaps [begin_ns, end_ns), uncut; times as in Timeline. Figures on the device rows of ranges cover
  /// the whole recording.
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();

  /// LoadOptions::max_memory_bytes, where the input is a file that is loaded; a capture needs little.
  std::uint64_t max_memory_bytes = 0;

  /// Called now and then with the work done and in all; false ends the export with kIncomplete and without a file. May
  /// be null.
  bool (*progress)(void* user, std::uint64_t done, std::uint64_t total) = nullptr;
  void* progress_user = nullptr;
};

/// Statistics of an export.
struct ChromeExportReport {
  std::uint64_t events = 0;
  std::uint64_t json_bytes = 0;  ///< before compression
  std::uint64_t output_bytes = 0;
  /// Slices that would overlap another partially, and are on an extra row.
  std::uint64_t overlapping = 0;
  /// What was left out of the output, and why; the trace says so too, under "rangefinder".
  std::uint64_t left_out = 0;
  std::vector<std::string> notes;
};

/// Writes the Chrome JSON dialect of torch.profiler: chrome://tracing, Perfetto, TensorBoard's profiler plugin and
/// HolisticTraceAnalysis read it. docs/reference/chrome-export.md has every event and argument.
///
///   rangefinder::export_chrome_trace("train.rfcap", "train.pt.trace.json.gz");
///
/// A capture is read in windows of time: memory does not grow with it. Other inputs (a folder of captures,
/// traces, Nsight exports) are loaded first. `output` "-" is standard output. The same input gives the same bytes,
/// whatever the machine's time zone, locale and number of cores.
///
/// Errors:  those of `load_timeline`, kExists, kIo. An output file appears only when it is complete.
/// Threads: any. A capture is written by a thread that lasts as long as the call, where the machine has more than one
///          processor; `progress` is called on the calling one.
/// Cost:    measured in docs/reference/chrome-export.md.
RANGEFINDER_EXPORT Status export_chrome_trace(const std::string& input, const std::string& output,
                                              const ChromeExportOptions& options = {},
                                              ChromeExportReport* report = nullptr);
/// Of a timeline. With attribution kAuto or kCapture, launches of CUDA graphs that were recorded as a whole are divided
/// first (split_graph_launches), as by the above; where there are any, in a copy of the timeline.
RANGEFINDER_EXPORT Status export_chrome_trace(const Timeline& timeline, const std::string& output,
                                              const ChromeExportOptions& options = {},
                                              ChromeExportReport* report = nullptr);

/// How activities of GPUs stand in a Perfetto trace.
enum class PerfettoGpu : std::uint8_t {
  /// As render stages, with the launch of each kernel: Perfetto's views of GPUs read these (table gpu_slice). Ranges
  /// stand on tracks of the same streams.
  kStages,
  /// Likewise, with fields of Perfetto's extension for GPUs: current versions of its interface draw arrows from
  /// launches by them, and launches that are alike are stored once. Readers of the basic schema skip these fields;
  /// strict ones call them unknown.
  kLinkedStages,
  /// As slices below the ranges, with arrows from launches; no version of Perfetto shows them in its views of GPUs.
  kSlices,
};

/// What goes into a Perfetto trace: the same as into a Chrome JSON trace by the options of the same names.
struct PerfettoExportOptions {
  ExportCompression compression = ExportCompression::kBySuffix;
  /// An earlier file of that name: true replaces it, false makes the export fail with kExists.
  bool replace = false;
  PerfettoGpu gpu = PerfettoGpu::kStages;

  bool api_calls = true;
  bool syncs = true;
  bool overheads = true;
  bool counters = true;
  bool flows = true;
  bool inclusive_ranges = true;
  bool exclusive_ranges = true;
  Attribution attribution = Attribution::kAuto;

  /// Only what overlaps [begin_ns, end_ns), uncut; times as in Timeline.
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();

  /// LoadOptions::max_memory_bytes, where the input is a file that is loaded; a capture needs little.
  std::uint64_t max_memory_bytes = 0;

  /// As ChromeExportOptions::progress.
  bool (*progress)(void* user, std::uint64_t done, std::uint64_t total) = nullptr;
  void* progress_user = nullptr;
};

/// Statistics of an export.
struct PerfettoExportReport {
  std::uint64_t events = 0;  ///< slices, marks, samples, ends of arrows
  std::uint64_t slices = 0;
  std::uint64_t trace_bytes = 0;  ///< before compression
  std::uint64_t output_bytes = 0;
  /// Slices that would overlap another partially, and are on an extra row.
  std::uint64_t overlapping = 0;
  /// What was left out of the output, and why; the trace says so too, in its attributes.
  std::uint64_t left_out = 0;
  std::vector<std::string> notes;
};

/// Writes Perfetto's protobuf format, which ui.perfetto.dev and trace_processor read.
/// docs/how-to/export-perfetto-trace.md says what is where.
///
///   rangefinder::export_perfetto_trace("train.rfcap", "train.pftrace");
///
/// Rows, names, slices and arguments are those of `export_chrome_trace`, and so are memory, determinism and threads.
/// What is cut off can be read up to there.
///
/// Errors:  those of `load_timeline`, kExists, kIo. An output file appears only when it is complete.
/// Threads: any; as export_chrome_trace.
/// Cost:    measured by benchmarks/perfetto_export.
RANGEFINDER_EXPORT Status export_perfetto_trace(const std::string& input, const std::string& output,
                                                const PerfettoExportOptions& options = {},
                                                PerfettoExportReport* report = nullptr);
/// Of a timeline.
RANGEFINDER_EXPORT Status export_perfetto_trace(const Timeline& timeline, const std::string& output,
                                                const PerfettoExportOptions& options = {},
                                                PerfettoExportReport* report = nullptr);

/// Which moment of the recording a snapshot shows.
enum class SnapshotMoment : std::uint8_t {
  kEnd,
  /// When the most was allocated: the host's memory and each device's at its own peak, after the very event that led to
  /// it. Events that came later are left out.
  kPeak,
};

struct MemorySnapshotOptions {
  bool replace = false;  ///< an output file that exists
  SnapshotMoment at = SnapshotMoment::kEnd;
  std::uint64_t max_memory_bytes = 0;  ///< LoadOptions::max_memory_bytes, where the input is a file
};

/// Writes allocations (Timeline::memory) as the pickle that PyTorch's memory viewer opens, pytorch.org/memory_viz or
/// `python -m torch.cuda._memory_viz`: each event up to a moment, and the blocks that are there then. The ranges and
/// operators around an event stand where the viewer shows a stack. The host's memory is a device like the others,
/// before them. Blocks from before the recording are not in it: nothing says where they are.
///
///   rangefinder::export_memory_snapshot("train.rfcap", "peak.pickle", {.at = rangefinder::SnapshotMoment::kPeak});
///
/// Errors:  those of `load_timeline`, kNotFound where the input holds no allocations, kExists unless `replace`, kIo. An
///          output file appears only when it is complete.
/// Threads: any.
/// Cost:    memory for the input and the output.
RANGEFINDER_EXPORT Status export_memory_snapshot(const std::string& input, const std::string& output,
                                                 const MemorySnapshotOptions& options = {});
RANGEFINDER_EXPORT Status export_memory_snapshot(const Timeline& timeline, const std::string& output,
                                                 const MemorySnapshotOptions& options = {});

/// What goes into a page.
struct HtmlExportOptions {
  bool replace = false;  ///< an output file that exists
  /// What the recording is called on the page; empty: the name of the input file.
  std::string title;
  /// Attribution of device work, as of reports.
  Attribution attribution = Attribution::kAuto;
  /// For the roofline: the peaks of the machine (bench::read_peaks); null: dots without a roof.
  const MachinePeaks* peaks = nullptr;
  /// Of more slices, short ones that are neighbours become one, and the page says so. At least 1,000.
  std::uint64_t most_slices = 1'000'000;
  std::uint64_t max_memory_bytes = 0;  ///< LoadOptions::max_memory_bytes, where the input is a file

  /// Called now and then with bytes read and in all; false ends the export with kIncomplete and without a file. May be
  /// null.
  bool (*progress)(void* user, std::uint64_t done, std::uint64_t total) = nullptr;
  void* progress_user = nullptr;
};

/// Statistics of a page.
struct HtmlExportReport {
  std::uint64_t slices = 0;        ///< on its timeline
  std::uint64_t left_out = 0;      ///< slices, samples and rows that are not in it, or only as a part of another
  std::uint64_t output_bytes = 0;  ///< of the file
  std::uint64_t page_bytes = 0;    ///< of these, what every page has
  std::vector<std::string> notes;  ///< why something was left out; the page says so too
  std::string policy;              ///< the content security policy in it, for the header of a server
};

/// Writes one HTML file with everything to look at: verdict, steps, tree and flame graph of ranges, timeline, roofline,
/// memory, ranks, advice, and what was lost. It works from disk, loads nothing from a network, and runs no script but
/// its own, whatever the names in the recording are. The same input gives the same bytes.
///
///   rangefinder::export_html("train.rfcap", "report.html");
///
/// `output` "-" is standard output.
///
/// Errors:  those of `load_timeline`, kInvalidArgument for `most_slices`, kExists unless `replace`, kIo, kIncomplete
///          where `progress` ended it. An output file appears only when it is complete.
/// Threads: any.
/// Cost:    memory for the timeline, its projection, 32 bytes a slice, and the page: about 8 bytes a slice.
RANGEFINDER_EXPORT Status export_html(const std::string& input, const std::string& output,
                                      const HtmlExportOptions& options = {}, HtmlExportReport* report = nullptr);
/// Of a timeline.
RANGEFINDER_EXPORT Status export_html(const Timeline& timeline, const std::string& output,
                                      const HtmlExportOptions& options = {}, HtmlExportReport* report = nullptr);

/// Files of stacks with a time each, which flame graphs are drawn of.
enum class StackFormat : std::uint8_t {
  kFolded,      ///< `step;forward;gemm 1234`, a line each, nanoseconds: flamegraph.pl, inferno, speedscope
  kSpeedscope,  ///< speedscope's JSON: a profile for each device or thread
  kHatchet,     ///< the JSON that hatchet.GraphFrame.from_literal() takes: "time" and "time (inc)" in nanoseconds
};

enum class StackTime : std::uint8_t {
  kDevice,  ///< durations of device activities, each below the range that owns it; their sum is Account::total
  kHost,    ///< time in ranges without the ranges inside them
};

struct StackExportOptions {
  StackFormat format = StackFormat::kFolded;
  StackTime time = StackTime::kDevice;
  bool replace = false;  ///< an output file that exists
  Attribution attribution = Attribution::kAuto;
  std::uint64_t max_memory_bytes = 0;  ///< LoadOptions::max_memory_bytes, where the input is a file
};

/// Writes time by stacks of ranges for flame graphs and tree tables of other tools. Equal stacks are one, so that the
/// file grows with the number of different ones. What nests deeper than 256 levels counts for the range at that level.
///
///   rangefinder::export_stacks("train.rfcap", "train.folded");
///   rangefinder::export_stacks("train.rfcap", "train.speedscope.json", {rangefinder::StackFormat::kSpeedscope});
///
/// Errors:  those of `load_timeline`, kNotFound where the input holds no device work (or no ranges, by host time),
/// kExists
///          unless `replace`, kIo. An output file appears only when it is complete. A name that ends in .gz compresses.
/// Threads: any.
/// Cost:    that of a projection, and memory for the different stacks.
RANGEFINDER_EXPORT Status export_stacks(const std::string& input, const std::string& output,
                                        const StackExportOptions& options = {});
RANGEFINDER_EXPORT Status export_stacks(const Timeline& timeline, const std::string& output,
                                        const StackExportOptions& options = {});

struct StepMetricsOptions {
  bool replace = false;  ///< an output file that exists
  Attribution attribution = Attribution::kAuto;
  std::uint64_t max_memory_bytes = 0;  ///< LoadOptions::max_memory_bytes, where the input is a file
};

/// Writes figures of the steps of each process as OpenMetrics text, which the textfile collector of Prometheus's
/// node_exporter picks up: length of a step, parts of it, device busy time, items, goodput, lost records.
/// docs/how-to/export-other-formats.md lists the metrics.
///
///   rangefinder::export_step_metrics("train.rfcap", "/var/lib/node_exporter/train.prom", {.replace = true});
///
/// Errors:  those of `load_timeline`, kNotFound where the input holds no steps, kExists unless `replace`, kIo. An
/// output
///          file appears only when it is complete, so that the collector never reads half of it.
/// Threads: any.
/// Cost:    that of a projection.
RANGEFINDER_EXPORT Status export_step_metrics(const std::string& input, const std::string& output,
                                              const StepMetricsOptions& options = {});
RANGEFINDER_EXPORT Status export_step_metrics(const Timeline& timeline, const std::string& output,
                                              const StepMetricsOptions& options = {});

struct NsightExportOptions {
  bool replace = false;                ///< an output file that exists
  std::uint64_t max_memory_bytes = 0;  ///< LoadOptions::max_memory_bytes, where the input is a file
};

/// Writes an SQLite file in the schema of `nsys export --type sqlite`, for tools and queries that are made for that:
/// ranges and marks (NVTX_EVENTS), API calls, kernels, copies, memsets, launches of whole graphs, waits, names,
/// devices, streams. Times begin at the first one of the recording. What that schema has no place for is left out:
/// operators, memory, counters, sensors.
///
///   rangefinder::export_nsight_sqlite("train.rfcap", "train.sqlite");
///
/// Errors:  those of `load_timeline`, kInvalidArgument where `output` is "-", kExists unless `replace`, kIo. An output
/// file
///          appears only when it is complete.
/// Threads: any.
/// Cost:    memory for the input; a temporary file of the size of the output, beside it.
RANGEFINDER_EXPORT Status export_nsight_sqlite(const std::string& input, const std::string& output,
                                               const NsightExportOptions& options = {});
RANGEFINDER_EXPORT Status export_nsight_sqlite(const Timeline& timeline, const std::string& output,
                                               const NsightExportOptions& options = {});

}  // namespace rangefinder
