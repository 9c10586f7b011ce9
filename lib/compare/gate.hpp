// SPDX-License-Identifier: MIT
#pragma once

#include "compare/gate_rule.hpp"
#include "compare/run_figures.hpp"

#include <rangefinder/gate.hpp>

#include <span>
#include <vector>

namespace rangefinder::compare {

/// Puts rules to the runs of two sides. `optional`: rules without data are passed over, and are no error.
///
/// Errors: kInvalidArgument for a limit of another unit than the metric's; kNotFound for a metric that no run has.
Result<GateResult> judge_runs(std::span<const Run> baseline, std::span<const Run> candidate,
                              std::span<const GateRule> rules, bool optional, const GateOptions& options);

/// Says what is different between the hardware of two sides; empty: nothing is known to be.
std::string other_hardware(std::span<const Run> baseline, std::span<const Run> candidate);

}  // namespace rangefinder::compare
