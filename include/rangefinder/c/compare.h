// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/base.h>
#include <rangefinder/c/reading.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What is different between two versions of a program, and whether that is too much.

#if defined(__cplusplus)
extern "C" {
#endif

/// rf_diff_options_init sets the defaults, which stand behind each member.
typedef struct rf_diff_options {
  size_t struct_size;
  uint64_t top;               ///< text and Markdown: at most so many rows a table; 0: all; 10
  uint64_t width;             ///< text: columns of the terminal; 0: no limit; 0
  uint64_t max_memory_bytes;  ///< as in rf_report_options, for each run
  uint32_t format;            ///< an rf_report_format; text
  uint32_t attribution;       ///< an rf_attribution; auto
  bool annotations;           ///< ranges of the program take part; true
  bool operators;             ///< operators of a framework take part as ranges; false
  bool strict;                ///< a recording that is damaged or incomplete is an error; false
  bool utf8;                  ///< text: true
  bool colour;                ///< text: false
  bool terminal;              ///< CSV shows control characters of names as text does; false
  bool reserved[2];           ///< false
} rf_diff_options;

RF_API rf_status rf_diff_options_init(rf_diff_options* options, size_t struct_size) RF_NOEXCEPT;
/// Compares two versions of a program, as `rangefinder diff` does: a text, to be freed. Each side is a capture, a trace
/// of torch.profiler, an Nsight export, a folder that is one job of several ranks, or a folder of several runs.
/// `options` may be null.
///
///   rf_text* text;
///   if (rf_diff("before.rfcap", "after.rfcap", NULL, &text) != RF_STATUS_OK) return fail();
///
/// Errors: as of rf_report; RF_STATUS_INCOMPLETE with `strict`.
/// Cost:   one run at a time is read; memory as of the largest.
RF_API rf_status rf_diff(const char* baseline, const char* candidate, const rf_diff_options* options,
                         rf_text** text) RF_NOEXCEPT;

typedef enum rf_gate_verdict {
  RF_GATE_PASS = 0,        ///< within the limit, and not by chance
  RF_GATE_REGRESSION = 1,  ///< past the limit, and not by chance
  RF_GATE_CANNOT_TELL = 2  ///< the data do not decide; more runs would
} rf_gate_verdict;

/// rf_gate_options_init sets the defaults, which stand behind each member.
typedef struct rf_gate_options {
  size_t struct_size;
  /// What fails the gate: "step.p50 > +2%"; docs/reference/gate.md has the language. None: "step > +2%" and
  /// "memory.peak > +2%", where there are data.
  const char* const* rules;
  size_t rule_count;          ///< 0
  double confidence;          ///< of the intervals, 0.5 to 0.9999; 0.95
  double assumed_run_spread;  ///< of times from run to run, a share, where both sides are single runs; 0.02
  uint64_t max_memory_bytes;  ///< as in rf_report_options, for each run
  uint32_t attribution;       ///< an rf_attribution; auto
  bool other_hardware;        ///< recordings of other hardware are compared, too; false: they are an error
  bool annotations;           ///< ranges of the program take part; true
  bool operators;             ///< operators of a framework take part as ranges; false
  bool strict;                ///< a recording that is damaged or incomplete is an error; false
} rf_gate_options;

RF_API rf_status rf_gate_options_init(rf_gate_options* options, size_t struct_size) RF_NOEXCEPT;

/// What a gate found.
typedef struct rf_gate rf_gate;

/// Compares the runs of a candidate with those of a baseline, as `rangefinder gate` does. Each is a capture, a trace, a
/// folder of runs, or a file of rf_baseline_save. `options` may be null. To be freed by rf_gate_free.
///
///   rf_gate* gate;
///   if (rf_gate_run(&baseline, 1, runs, 5, NULL, &gate) != RF_STATUS_OK) return fail();
///   if (rf_gate_get_verdict(gate) == RF_GATE_REGRESSION) ...
///
/// Errors: as of rf_report; RF_STATUS_INVALID_ARGUMENT for a rule that cannot be read, a limit of another unit than the
///         metric's, and other hardware; RF_STATUS_NOT_FOUND also for a metric that no run has.
/// Cost:   one run at a time is read; memory as of the largest.
RF_API rf_status rf_gate_run(const char* const* baseline, size_t baseline_count, const char* const* candidate,
                             size_t candidate_count, const rf_gate_options* options, rf_gate** gate) RF_NOEXCEPT;
/// An rf_gate_verdict: a regression, if there is one; else cannot tell, if there is one. Cannot tell for null.
RF_API uint32_t rf_gate_get_verdict(const rf_gate* gate) RF_NOEXCEPT;

/// A rule, put to one metric. Its texts hold until the gate is freed. The caller sets struct_size.
typedef struct rf_gate_check {
  size_t struct_size;
  const char* rule;       ///< "step.p50 > +2%"
  const char* metric;     ///< "step"
  const char* statistic;  ///< "p50", "mean"
  const char* unit;       ///< of the figures: "ns", "B", "1/s", or "": a count
  const char* reason;     ///< what the figures do not say; may be ""
  double baseline;
  double candidate;
  double limit;  ///< with the three below: a share of the baseline where `is_share`, else in the unit
  double change;
  double change_low;  ///< the interval of the change
  double change_high;
  uint32_t verdict;  ///< an rf_gate_verdict
  bool is_share;
} rf_gate_check;

/// Checks; 0 for null.
RF_API size_t rf_gate_check_count(const rf_gate* gate) RF_NOEXCEPT;
/// Regressions first, then what cannot be told; RF_STATUS_NOT_FOUND past the last one.
RF_API rf_status rf_gate_check_at(const rf_gate* gate, size_t index, rf_gate_check* check) RF_NOEXCEPT;
/// All of it as a text, to be freed. `format`: an rf_report_format other than CSV.
RF_API rf_status rf_gate_text(const rf_gate* gate, uint32_t format, rf_text** text) RF_NOEXCEPT;
RF_API void rf_gate_free(rf_gate* gate) RF_NOEXCEPT;

/// Writes runs as one small file, which rf_gate_run takes as a baseline. Of `options`, which may be null, what is said
/// of reading counts.
///
/// Errors: as of rf_report; RF_STATUS_EXISTS without `replace`; RF_STATUS_IO.
RF_API rf_status rf_baseline_save(const char* const* runs, size_t count, const char* output, bool replace,
                                  const rf_gate_options* options) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
