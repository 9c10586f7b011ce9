// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/base.h>
#include <rangefinder/c/health.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reports of files, what is in them, and what a machine can record. `input`: a capture, a folder of captures, a trace
// of torch.profiler, or an SQLite export of Nsight Systems.

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum rf_report_format {
  RF_REPORT_TEXT = 0,      ///< aligned columns for people
  RF_REPORT_CSV = 1,       ///< exact numbers, units in the header; not of rf_gate_text
  RF_REPORT_JSON = 2,      ///< one object with schema_version
  RF_REPORT_MARKDOWN = 3,  ///< GitHub-flavoured tables; of rf_diff and rf_gate_text
  RF_REPORT_JUNIT = 4      ///< JUnit XML; of rf_gate_text
} rf_report_format;

/// What to show, and how; rf_report_options_init sets the defaults. As ReportOptions of report.hpp, but for `peaks`,
/// which the component `bench` reads.
typedef struct rf_report_options {
  size_t struct_size;
  const char* view;        ///< "tree", "kernels", ...; null: "ranges"
  const char* step_names;  ///< the view steps: which ranges are which part of a step; null: by their usual names
  const char* filter;      ///< rows whose name has this in it; null: all
  const char* sort;        ///< a column, "+" or "-" in front for up or down; null: the view's own order
  uint64_t depth;          ///< the view tree: at most so many ranges deep; 0: all
  uint64_t top;            ///< at most so many rows; 0: all
  uint64_t width;          ///< text: columns of the terminal; 0: no limit
  uint32_t format;         ///< an rf_report_format; text
  uint32_t attribution;    ///< an rf_attribution; auto
  bool instances;          ///< one row per instance instead of one per name; false
  bool by_shape;           ///< the view ops: one row per name and shapes of inputs; false
  bool fold;               ///< the view tree: numbers in names count as one; false
  bool filter_is_regex;    ///< false
  bool annotations;        ///< ranges of the program take part; true
  bool operators;          ///< operators of a framework take part; false
  bool utf8;               ///< text: true
  bool colour;             ///< text: false
  /// The input is refused (RF_STATUS_TOO_LARGE) where it would need more memory; 0: half of what the machine or the
  /// control group has, at least 1 GiB; UINT64_MAX: no bound.
  uint64_t max_memory_bytes;
  const char* columns;  ///< titles or keys with commas between, "range,count"; null: the view's own; "help": a list
  const char* payload;  ///< the view ranges: only instances whose payload fulfils this, "batch>=64"; null: all
  bool by_payload;      ///< the view ranges: one row per name and payload; false
  bool overview;        ///< the view ranges in text and JSON begins with a summary of the capture; true
  bool absolute_times;  ///< text: points in time on the timeline's clock instead of since its begin; false
  bool terminal;        ///< CSV shows control characters of names as text does; false
  bool strict;          ///< a recording that is damaged or incomplete is an error; false
  bool reserved[3];     ///< false
  const char* by;       ///< what rows are by: "step", "range", "reason" or "operator"; null: the view's own
  /// The view critical_path: "step:12", "range:forward", "time:1000..5000" (nanoseconds since the begin of the
  /// recording), "steps" or "all"; null: all steps, without steps the whole recording.
  const char* of;
} rf_report_options;

RF_API rf_status rf_report_options_init(rf_report_options* options, size_t struct_size) RF_NOEXCEPT;
/// The report of a file as a text, to be freed. `options` may be null.
///
/// Errors: RF_STATUS_NOT_FOUND for a file or view that is not there, with the nearest name; RF_STATUS_INVALID_ARGUMENT
///         for a broken expression or column; RF_STATUS_UNREADABLE, RF_STATUS_UNSUPPORTED, RF_STATUS_TOO_LARGE for the
///         input; RF_STATUS_INCOMPLETE with `strict`.
/// Cost:   memory about 100 bytes an event.
RF_API rf_status rf_report(const char* input, const rf_report_options* options, rf_text** report) RF_NOEXCEPT;
/// The same of several captures, or folders of captures, or of several traces of torch.profiler, as one job.
///
/// Errors: as of rf_report; RF_STATUS_UNSUPPORTED for captures and traces together and for an export of Nsight Systems
///         among several inputs, RF_STATUS_INVALID_ARGUMENT for a file that is given twice and for no input.
RF_API rf_status rf_report_job(const char* const* inputs, size_t count, const rf_report_options* options,
                               rf_text** report) RF_NOEXCEPT;

/// A view of rf_report_options. Its texts are never freed. The caller sets struct_size.
typedef struct rf_report_view {
  size_t struct_size;
  const char* name;
  const char* description;
  bool nsight_compatible;  ///< equals Nsight Systems' report of that name
} rf_report_view;

RF_API size_t rf_report_view_count(void) RF_NOEXCEPT;
/// In the order of `rangefinder report --view help`; RF_STATUS_NOT_FOUND past the last one.
RF_API rf_status rf_report_view_at(size_t index, rf_report_view* view) RF_NOEXCEPT;

typedef enum rf_key_averages_order {
  RF_KEY_AVERAGES_FIRST = 0,  ///< not sorted
  RF_KEY_AVERAGES_CPU_TOTAL = 1,
  RF_KEY_AVERAGES_CPU_SELF = 2,
  RF_KEY_AVERAGES_DEVICE_TOTAL = 3,
  RF_KEY_AVERAGES_DEVICE_SELF = 4,
  RF_KEY_AVERAGES_CALLS = 5,
  RF_KEY_AVERAGES_FLOPS = 6
} rf_key_averages_order;

/// Operators of an input by name, with the rules of torch.profiler's key_averages(); see analysis/key_averages.hpp.
typedef struct rf_key_averages rf_key_averages;

/// The operators of one name, added up. Total: with all inside; self: without. Its texts hold until the averages are
/// freed.
typedef struct rf_operator_group {
  size_t struct_size;
  const char* name;
  const char* shapes;  ///< of the inputs; "" unless grouped by them
  uint64_t calls;
  uint64_t flops;  ///< of the calls whose FLOPs are known
  int64_t cpu_total_ns;
  int64_t cpu_self_ns;
  int64_t device_total_ns;
  int64_t device_self_ns;
  int64_t host_total_bytes;  ///< allocated less given back, while they ran
  int64_t host_self_bytes;
  int64_t device_total_bytes;
  int64_t device_self_bytes;
  uint64_t calls_without_flops;  ///< that `flops` leaves out: no formula for the operator, or no shapes of its inputs
} rf_operator_group;

/// `by_shape`: operators of one name and different shapes are groups of their own.
///
/// Errors, cost: as of rf_report.
RF_API rf_status rf_key_averages_load(const char* input, bool by_shape, rf_key_averages** averages) RF_NOEXCEPT;
/// Groups; 0 for null.
RF_API size_t rf_key_averages_count(const rf_key_averages* averages) RF_NOEXCEPT;
/// In order of the first of each; RF_STATUS_NOT_FOUND past the last one. The caller sets group->struct_size.
RF_API rf_status rf_key_averages_at(const rf_key_averages* averages, size_t index,
                                    rf_operator_group* group) RF_NOEXCEPT;
/// What shares are of: self time of all operators, ranges and CUDA calls, and all device time. Either may be null.
RF_API rf_status rf_key_averages_totals(const rf_key_averages* averages, int64_t* cpu_ns,
                                        int64_t* device_ns) RF_NOEXCEPT;
/// As the text of torch.profiler's `key_averages().table()`, to be freed. `order`: an rf_key_averages_order, the
/// greatest first. `row_limit` 0: all.
RF_API rf_status rf_key_averages_table(const rf_key_averages* averages, uint32_t order, size_t row_limit,
                                       rf_text** table) RF_NOEXCEPT;
RF_API void rf_key_averages_free(rf_key_averages* averages) RF_NOEXCEPT;

/// What can be said of a capture without reading its events, as `rangefinder info` shows it.
typedef struct rf_capture rf_capture;

/// The caller sets struct_size. Texts hold until the capture is freed.
typedef struct rf_capture_facts {
  size_t struct_size;
  const char* path;
  const char* clock;         ///< "TSC at 2.60 GHz"
  const char* device_state;  ///< "full", or why device activity was not recorded
  uint64_t file_bytes;
  int64_t start_realtime_ns;  ///< since 1970
  int64_t duration_ns;        ///< from the start to the last record
  int64_t clock_error_ns;     ///< most that a device time can be off against a host time
  uint32_t format_major;
  uint32_t format_minor;
  uint32_t pid;
  uint32_t threads;
  uint32_t devices;
  uint32_t names;
  bool ended_cleanly;
  bool flight_recorder;
  bool simulated;
} rf_capture_facts;

/// How much of a kind of record a capture holds.
typedef struct rf_capture_content {
  size_t struct_size;
  const char* kind;  ///< "host events", "kernels", ...
  uint64_t chunks;
  uint64_t rows;
  uint64_t bytes;  ///< in the file, headers included
} rf_capture_content;

/// Something wrong with a capture file.
typedef struct rf_capture_finding {
  size_t struct_size;
  const char* text;
  uint64_t offset;  ///< byte of the file
  uint64_t bytes;
} rf_capture_finding;

/// Opens a capture, or a live file that a dead program left. `deep`: every piece is unpacked, so that all damage shows.
///
/// Errors: RF_STATUS_NOT_FOUND; RF_STATUS_UNREADABLE when it is no capture; RF_STATUS_UNSUPPORTED for a newer format.
/// Cost:   milliseconds a gigabyte; deep: about a second a gigabyte.
RF_API rf_status rf_capture_inspect(const char* path, bool deep, rf_capture** capture) RF_NOEXCEPT;
RF_API rf_status rf_capture_get_facts(const rf_capture* capture, rf_capture_facts* facts) RF_NOEXCEPT;
/// Three lists; RF_STATUS_NOT_FOUND past the last one. The caller sets struct_size, which rf_metadata has not.
RF_API size_t rf_capture_content_count(const rf_capture* capture) RF_NOEXCEPT;
RF_API rf_status rf_capture_content_at(const rf_capture* capture, size_t index,
                                       rf_capture_content* content) RF_NOEXCEPT;
RF_API size_t rf_capture_metadata_count(const rf_capture* capture) RF_NOEXCEPT;
RF_API rf_status rf_capture_metadata_at(const rf_capture* capture, size_t index, rf_metadata* metadata) RF_NOEXCEPT;
RF_API size_t rf_capture_finding_count(const rf_capture* capture) RF_NOEXCEPT;
RF_API rf_status rf_capture_finding_at(const rf_capture* capture, size_t index,
                                       rf_capture_finding* finding) RF_NOEXCEPT;
/// What the recording lost, with what this look at the file found; to be freed.
RF_API rf_status rf_capture_health(const rf_capture* capture, rf_health** health) RF_NOEXCEPT;
RF_API void rf_capture_free(rf_capture* capture) RF_NOEXCEPT;
/// Writes what can be read of a capture, and of the live file beside it, as a new whole one. `records`, unless null,
/// gets how many are in it. `replace`: a file that is there already.
///
/// Errors: as of rf_capture_inspect; RF_STATUS_EXISTS, RF_STATUS_IO.
RF_API rf_status rf_capture_repair(const char* damaged, const char* repaired, bool replace,
                                   uint64_t* records) RF_NOEXCEPT;

// ---- doctor -------------------------------------------------------------------------------------------------------

typedef enum rf_doctor_state {
  RF_DOCTOR_GOOD = 0,
  RF_DOCTOR_NOTE = 1,    ///< works, but worth knowing
  RF_DOCTOR_MISSING = 2  ///< part of a recording is not possible
} rf_doctor_state;

/// What a recording depends on, and how it stands on this machine, as `rangefinder doctor` shows it.
typedef struct rf_doctor rf_doctor;

/// Texts hold until the doctor is freed. The caller sets struct_size.
typedef struct rf_doctor_finding {
  size_t struct_size;
  const char* topic;   ///< "driver", "CUPTI", "clock", ...
  const char* detail;  ///< what was found
  const char* fix;     ///< what to do; "" when good
  uint32_t state;      ///< an rf_doctor_state
} rf_doctor_finding;

/// Looks at the driver, CUPTI, NVML, LibTorch, rights, the clock, the file system of `folder` (null: the working
/// directory) and the environment. Loads libraries into the process; starts nothing.
RF_API rf_status rf_doctor_run(const char* folder, rf_doctor** doctor) RF_NOEXCEPT;
/// Findings; 0 for null.
RF_API size_t rf_doctor_count(const rf_doctor* doctor) RF_NOEXCEPT;
/// RF_STATUS_NOT_FOUND past the last one.
RF_API rf_status rf_doctor_at(const rf_doctor* doctor, size_t index, rf_doctor_finding* finding) RF_NOEXCEPT;
RF_API void rf_doctor_free(rf_doctor* doctor) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
