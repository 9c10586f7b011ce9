// SPDX-License-Identifier: MIT
#include "compare/baseline_file.hpp"
#include "compare/gate.hpp"
#include "compare/load_runs.hpp"

#include <iterator>
#include <utility>

namespace rangefinder {
namespace {

Result<std::vector<compare::Run>> load_all(const std::vector<std::string>& paths, const ProjectionOptions& projection,
                                           const LoadOptions& load) {
  std::vector<compare::Run> runs;
  for (const std::string& path : paths) {
    Result<std::vector<compare::Run>> some = compare::load_runs(path, load, {projection});
    if (!some) return std::move(some).error();
    runs.insert(runs.end(), std::make_move_iterator(some->begin()), std::make_move_iterator(some->end()));
  }
  return runs;
}

}  // namespace

std::vector<std::string> default_gate_rules() { return {"step > +2%", "memory.peak > +2%"}; }

Result<GateResult> run_gate(const std::vector<std::string>& baseline, const std::vector<std::string>& candidate,
                            const GateOptions& options, const LoadOptions& load) {
  if (!(options.confidence >= 0.5 && options.confidence <= 0.9999))
    return Error(ErrorCode::kInvalidArgument, "gate: the confidence goes from 0.5 to 0.9999");
  std::vector<compare::GateRule> rules;
  for (const std::string& text : options.rules.empty() ? default_gate_rules() : options.rules) {
    Result<compare::GateRule> rule = compare::parse_gate_rule(text);
    if (!rule) return std::move(rule).error();
    rules.push_back(std::move(*rule));
  }
  const Result<std::vector<compare::Run>> before = load_all(baseline, options.projection, load);
  if (!before) return before.error();
  const Result<std::vector<compare::Run>> after = load_all(candidate, options.projection, load);
  if (!after) return after.error();
  return compare::judge_runs(*before, *after, rules, options.rules.empty(), options);
}

Status save_baseline(const std::vector<std::string>& runs, const std::string& output, bool replace,
                     const ProjectionOptions& projection, const LoadOptions& load) {
  const Result<std::vector<compare::Run>> loaded = load_all(runs, projection, load);
  if (!loaded) return loaded.error();
  return compare::save_baseline_file(output, *loaded, replace);
}

const char* to_string(GateVerdict verdict) noexcept {
  switch (verdict) {
    case GateVerdict::kPass:
      return "pass";
    case GateVerdict::kRegression:
      return "regression";
    case GateVerdict::kCannotTell:
      break;
  }
  return "cannot tell";
}

}  // namespace rangefinder
