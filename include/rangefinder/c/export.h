// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Files that other tools read.
// `input`: as in reading.h.

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum rf_compression {
  RF_COMPRESSION_BY_SUFFIX = 0,  ///< gzip when the output's name ends in .gz
  RF_COMPRESSION_PLAIN = 1,
  RF_COMPRESSION_GZIP = 2
} rf_compression;

/// What goes into a Chrome JSON trace; rf_chrome_options_init sets the defaults, which stand behind each member.
typedef struct rf_chrome_options {
  size_t struct_size;
  int64_t begin_ns;       ///< only what lies in [begin_ns, end_ns) or reaches into it; INT64_MIN
  int64_t end_ns;         ///< INT64_MAX
  uint32_t compression;   ///< an rf_compression; by suffix
  uint32_t attribution;   ///< an rf_attribution; auto
  bool replace;           ///< an output file that exists; false
  bool pretty;            ///< indented; false
  bool api_calls;         ///< true
  bool syncs;             ///< true
  bool overheads;         ///< true
  bool counters;          ///< true
  bool flows;             ///< true
  bool exclusive_ranges;  ///< without inclusive_ranges: the same by activities whose innermost range they are; true
  bool inclusive_ranges;  ///< ranges on the device, from the first to the last activity launched in them; true
  bool reserved[7];       ///< false
  /// Called now and then with the work done and in all; false ends the export: RF_STATUS_INCOMPLETE, and no file. May
  /// be null.
  bool (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  uint64_t max_memory_bytes;  ///< as in rf_report_options; a capture needs little
} rf_chrome_options;

/// What an export did. The caller sets struct_size.
typedef struct rf_chrome_report {
  size_t struct_size;
  uint64_t events;
  uint64_t json_bytes;  ///< before compression
  uint64_t output_bytes;
  uint64_t overlapping;  ///< slices that would have cut another one and stand on a row beside it
  uint64_t left_out;     ///< of the input; the trace says why
} rf_chrome_report;

RF_API rf_status rf_chrome_options_init(rf_chrome_options* options, size_t struct_size) RF_NOEXCEPT;
/// Writes the Chrome JSON dialect of torch.profiler, for chrome://tracing, Perfetto and TensorBoard; as
/// export_chrome_trace of exporters.hpp. `output` "-" is standard output; `options` and `report` may be null.
///
/// Errors: RF_STATUS_NOT_FOUND, RF_STATUS_UNREADABLE, RF_STATUS_UNSUPPORTED, RF_STATUS_TOO_LARGE, RF_STATUS_EXISTS,
///         RF_STATUS_IO; RF_STATUS_INCOMPLETE where `progress` ended it. An output file appears only when it is whole.
/// Cost:   docs/reference/chrome-export.md.
RF_API rf_status rf_export_chrome_trace(const char* input, const char* output, const rf_chrome_options* options,
                                        rf_chrome_report* report) RF_CALLS_BACK;

typedef enum rf_perfetto_gpu {
  RF_PERFETTO_STAGES = 0,  ///< kernels and copies are render stages, with the launch of each kernel
  RF_PERFETTO_LINKED = 1,  ///< the same, linked to their launches by Perfetto's extension for GPUs
  RF_PERFETTO_SLICES = 2   ///< slices below the ranges, with arrows from launches
} rf_perfetto_gpu;

/// What goes into a trace of Perfetto; rf_perfetto_options_init sets the defaults. Members that rf_chrome_options has,
/// too, mean the same there.
typedef struct rf_perfetto_options {
  size_t struct_size;
  int64_t begin_ns;
  int64_t end_ns;
  uint32_t compression;
  uint32_t attribution;
  uint32_t gpu;  ///< an rf_perfetto_gpu; stages
  bool replace;
  bool api_calls;
  bool syncs;
  bool overheads;
  bool counters;
  bool flows;  ///< arrows; with linked stages also those of the extension
  bool exclusive_ranges;
  bool inclusive_ranges;
  bool reserved[4];  ///< false
  bool (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  uint64_t max_memory_bytes;
} rf_perfetto_options;

/// What an export did. The caller sets struct_size.
typedef struct rf_perfetto_report {
  size_t struct_size;
  uint64_t events;  ///< slices, marks, samples, ends of arrows
  uint64_t slices;
  uint64_t trace_bytes;  ///< before compression
  uint64_t output_bytes;
  uint64_t overlapping;  ///< as in rf_chrome_report
  uint64_t left_out;     ///< of the input; the trace says why
} rf_perfetto_report;

RF_API rf_status rf_perfetto_options_init(rf_perfetto_options* options, size_t struct_size) RF_NOEXCEPT;
/// Writes Perfetto's protobuf format, for ui.perfetto.dev and trace_processor; as export_perfetto_trace of
/// exporters.hpp. `output` "-" is standard output; `options` and `report` may be null.
///
/// Errors: as of rf_export_chrome_trace.
RF_API rf_status rf_export_perfetto_trace(const char* input, const char* output, const rf_perfetto_options* options,
                                          rf_perfetto_report* report) RF_CALLS_BACK;

typedef enum rf_snapshot_moment {
  RF_SNAPSHOT_END = 0,
  RF_SNAPSHOT_PEAK = 1  ///< when the most was allocated
} rf_snapshot_moment;

/// Writes allocations as the pickle that PyTorch's memory viewer opens. `moment`: an rf_snapshot_moment.
///
/// Errors: as above; RF_STATUS_NOT_FOUND also where the input holds no allocations.
RF_API rf_status rf_export_memory_snapshot(const char* input, const char* output, uint32_t moment,
                                           bool replace) RF_NOEXCEPT;

/// rf_snapshot_options_init sets the defaults, which stand behind each member.
typedef struct rf_snapshot_options {
  size_t struct_size;
  uint64_t max_memory_bytes;  ///< as in rf_report_options
  uint32_t moment;            ///< an rf_snapshot_moment; end
  bool replace;               ///< an output file that exists; false
  bool reserved[3];           ///< false
} rf_snapshot_options;

RF_API rf_status rf_snapshot_options_init(rf_snapshot_options* options, size_t struct_size) RF_NOEXCEPT;
/// The same with options, which may be null.
RF_API rf_status rf_export_memory_snapshot_with(const char* input, const char* output,
                                                const rf_snapshot_options* options) RF_NOEXCEPT;

/// rf_html_options_init sets the defaults, which stand behind each member.
typedef struct rf_html_options {
  size_t struct_size;
  const char* title;          ///< what the recording is called on the page; null: the name of the input file
  uint64_t most_slices;       ///< of more, short ones that are neighbours become one; 1,000,000
  uint64_t max_memory_bytes;  ///< as in rf_report_options
  uint32_t attribution;       ///< an rf_attribution; auto
  bool replace;               ///< an output file that exists; false
  bool reserved[3];           ///< false
  /// As in rf_chrome_options, of bytes read. May be null.
  bool (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
} rf_html_options;

/// What an export as a page did. The caller sets struct_size.
typedef struct rf_html_report {
  size_t struct_size;
  uint64_t slices;    ///< on the page's timeline
  uint64_t left_out;  ///< slices, samples and rows that are not in it, or only as a part of another; the page says why
  uint64_t output_bytes;
} rf_html_report;

RF_API rf_status rf_html_options_init(rf_html_options* options, size_t struct_size) RF_NOEXCEPT;
/// Writes one HTML file with everything to look at, which works from disk; as export_html of exporters.hpp. `output`
/// "-" is standard output; `options` and `report` may be null.
///
/// Errors: as of rf_export_chrome_trace.
RF_API rf_status rf_export_html(const char* input, const char* output, const rf_html_options* options,
                                rf_html_report* report) RF_CALLS_BACK;

#if defined(__cplusplus)
}
#endif
