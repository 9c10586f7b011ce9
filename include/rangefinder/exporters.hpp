// SPDX-License-Identifier: MIT
#pragma once

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

}  // namespace rangefinder
