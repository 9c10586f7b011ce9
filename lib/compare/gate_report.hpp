// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/gate.hpp>

#include <string>

// How the result of a gate is written.
namespace rangefinder::compare {

/// "regression: 1 of 4 metrics is past its limit, 1 cannot be told"
std::string gate_sentence(const GateResult& result);
/// "+2.1 %", "-1.500 ms", "+3": an amount of a check, with its sign.
std::string amount_text(const GateCheck& check, double amount);
/// "1.200 ms", "12.5", of the check's unit.
std::string figure_text(const GateCheck& check, double value);
/// "step fast: 1.000 ms, now 1.050 ms: +5.0 % (+4.1 % to +5.9 %), limit +2.0 %"
std::string check_sentence(const GateCheck& check);

std::string gate_json(const GateResult& result);
std::string gate_junit(const GateResult& result);

}  // namespace rangefinder::compare
