// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/compare.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// Whether a change makes a program slower by more than is allowed: what CI asks.
namespace rangefinder {

enum class GateVerdict : std::uint8_t {
  kPass,        ///< within the limit, and not by chance
  kRegression,  ///< past the limit, and not by chance
  kCannotTell,  ///< the data do not decide; more runs would
};

struct GateOptions {
  /// What fails the gate: "step.p50 > +2%", "memory.peak > +100MiB", "path:train/* > +5%"; docs/reference/gate.md has
  /// the language. Empty: default_gate_rules(), of which those pass over that the recordings have no data for.
  std::vector<std::string> rules;
  /// Of the intervals, 0.5 to 0.9999. A regression is called by chance in half of the rest at most.
  double confidence = 0.95;
  /// Where both sides are single runs: the standard deviation from run to run that times are taken to have, as a share.
  double assumed_run_spread = 0.02;
  /// Compare recordings of other hardware too. False: they are an error.
  bool other_hardware = false;
  ProjectionOptions projection;  ///< how device work counts for paths
};

/// "step > +2%", "memory.peak > +2%"; static.
RANGEFINDER_EXPORT std::vector<std::string> default_gate_rules();

/// A rule, put to one metric.
struct GateCheck {
  std::string rule;       ///< "step.p50 > +2%"
  std::string metric;     ///< "step"
  std::string statistic;  ///< "p50", "mean"
  std::string unit;       ///< of the figures: "ns", "B", "1/s", or empty: a count
  double baseline = 0;
  double candidate = 0;
  /// The limit is a share of the baseline: the four below are shares, 0.02 is 2 %. False: they have the unit.
  bool is_share = true;
  double limit = 0;
  double change = 0;
  double change_low = 0;  ///< the interval of the change
  double change_high = 0;
  GateVerdict verdict = GateVerdict::kCannotTell;
  std::string reason;  ///< what the figures do not say; may be empty
};

struct GateResult {
  GateVerdict verdict = GateVerdict::kPass;  ///< a regression, if there is one; else cannot tell, if there is one
  ComparedSide baseline;
  ComparedSide candidate;
  std::vector<GateCheck> checks;  ///< regressions first, then what cannot be told
  std::vector<std::string> notes;
};

/// Compares the runs of a candidate with those of a baseline, each a capture, a trace, a folder of runs, or a file of
/// save_baseline.
///
///   rangefinder::GateOptions options;
///   options.rules = {"step.p50 > +2%"};
///   const auto gate = rangefinder::run_gate({"main.rfbase"}, {"run1.rfcap", "run2.rfcap"}, options);
///   if (gate && gate->verdict == rangefinder::GateVerdict::kRegression) ...
///
/// Errors:  as of load_timeline; kInvalidArgument for a rule that cannot be read, a limit of another unit than the
///          metric's, and other hardware; kNotFound for a metric that no run has.
/// Threads: any.
/// Cost:    reads one run at a time; memory as of the largest run. 1,000 metrics of 20 runs a side take a second.
RANGEFINDER_EXPORT Result<GateResult> run_gate(const std::vector<std::string>& baseline,
                                               const std::vector<std::string>& candidate,
                                               const GateOptions& options = {}, const LoadOptions& load = {});

/// Writes the runs as one small file, which run_gate takes as a baseline: figures of each step, and no events. It
/// appears under its name when it is whole.
///
/// Errors: as of load_timeline; kExists without `replace`; kIo.
RANGEFINDER_EXPORT Status save_baseline(const std::vector<std::string>& runs, const std::string& output, bool replace,
                                        const ProjectionOptions& projection = {}, const LoadOptions& load = {});

enum class GateFormat : std::uint8_t {
  kText,
  kJson,      ///< one object with schema_version; exact numbers
  kMarkdown,  ///< GitHub-flavoured, for a comment or a job summary
  kJunit,     ///< JUnit XML: a test case per check; what cannot be told is skipped
};

struct GateTextOptions {
  GateFormat format = GateFormat::kText;
  bool utf8 = true;
  bool colour = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
};

/// Writes a result through `sink`, which returns false to stop (kIo then). Text and Markdown leave out metrics that a
/// `*` found and that are within the limit; they are counted.
RANGEFINDER_EXPORT Status write_gate(const GateResult& result, const GateTextOptions& options,
                                     const std::function<bool(std::string_view)>& sink);

/// "pass", "regression", "cannot tell"; static.
RANGEFINDER_EXPORT const char* to_string(GateVerdict verdict) noexcept;

}  // namespace rangefinder
