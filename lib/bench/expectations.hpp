// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What a machine, or machines of a processor family, reached before, per example: the file expectations_<key>.json.
namespace rangefinder::bench {

/// Against a stored value.
enum class State : std::uint8_t {
  kNew,          ///< nothing is stored
  kMet,          ///< within the allowance
  kImproved,     ///< better by more than the allowance
  kRegressed,    ///< worse by more than the allowance
  kMissing,      ///< the example is stored, and there is no result of it
  kNotReported,  ///< the metric is stored, and the result does not have it
};

std::string_view to_string(State state) noexcept;

/// How far a value may be worse than the stored one: 25 % of a time (10 ns at least) or rate, 2 % of bytes, nothing of
/// a count.
double allowance(MetricKind kind, double stored) noexcept;
State state_of(const Metric& metric, double stored) noexcept;

/// Baseline / optimized of one run. Ratios carry over between processors of a family, times do not.
struct Ratio {
  std::string name;  ///< "time", "bytes"
  double value = 0;
  double high = 0;  ///< upper end of its 95 % interval; 0: unknown, so that it is neither compared nor stored
};

/// The least ratio that is no regression, of the ratios of some runs, not none: 8 % (of bytes 5 %) below their median,
/// or the lowest of them where that is lower.
double least_of(const std::string& name, const std::vector<double>& runs);
/// Regressed where the whole interval is below the least, else met: noise within a run widens the interval, and so the
/// gate.
State state_of(const Ratio& ratio, double least) noexcept;

/// Where and how an entry was measured. Entries are compared and replaced only where all but commit, time, iterations
/// and warm-up agree.
struct Provenance {
  std::string commit;
  std::string hardware_key;  ///< of an entry of ratios: the processor family
  std::string device;
  std::string size;
  std::string profile;
  std::string caches;  ///< "warm", or "flushed" before each step
  std::string time;
  std::int64_t iterations = 0;
  std::int64_t warmup = 0;
  std::string torch;
  std::string cuda;
  std::string driver;
  std::int64_t ranks = 1;  ///< processes of a variant

  Json to_json() const;
  static Provenance from_json(JsonView json);
  /// The first thing that makes the two incomparable: `torch "2.11.0", stored "2.10.0"`; empty: nothing.
  std::string conflict(const Provenance& stored) const;
};

/// What a run found of an example.
struct Measured {
  std::string name;
  std::string goal;
  std::vector<Metric> metrics;  ///< those named "baseline.*" are stored and never compared
  Provenance provenance;
  std::vector<Ratio> ratios{};  ///< in the place of metrics
};

struct MetricState {
  std::string name;
  State state = State::kNew;
  double stored = 0;  ///< of a ratio, "ratio.time": the least
  double measured = 0;
};

struct RegressionCheck {
  State state = State::kNew;  ///< the worst of all metrics
  std::vector<MetricState> metrics;
  std::string conflict;  ///< not empty: stored under other conditions, so nothing was compared
};

class Expectations {
 public:
  /// A file that is not there holds nothing. kUnreadable: not such a file; kInvalidArgument: of another machine.
  static Result<Expectations> load(const std::string& path, const std::string& hardware_key);

  RegressionCheck check(const Measured& measured) const;
  bool has(const std::string& name) const { return JsonView(document_)["examples"].has(name); }

 private:
  Json document_;
};

struct UpdateOptions {
  bool accept_regressions = false;
  bool accept_provenance = false;  ///< replace entries that were measured under other conditions
};

struct UpdateReport {
  std::vector<std::string> written;
  std::vector<std::string> refused;  ///< name and why
};

/// Writes entries, under a lock beside the file, to a new file that takes the name of the old one: a reader sees all of
/// it or nothing, and what another run wrote meanwhile stays. Ratios are added to those of earlier runs, of which the
/// last 20 are kept; they begin anew where a regression or other conditions were accepted.
///
/// Errors: kBusy when another run holds the lock; those of load and of writing.
Result<UpdateReport> update_expectations(const std::string& path, const std::string& hardware_key,
                                         const std::vector<Measured>& measured, const UpdateOptions& options);

}  // namespace rangefinder::bench
