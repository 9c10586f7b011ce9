// SPDX-License-Identifier: MIT
#pragma once

#include "report/text_table.hpp"

#include <rangefinder/analysis/advice.hpp>

#include <string>

namespace rangefinder::report {

/// Advice for people: the verdict, each finding with its evidence, what to change and how to check it, then what could
/// not be judged.
std::string advice_text(const Advice& advice, const TextOptions& options);

/// "3.20 ms a step (12.4 %)", "3.20 ms a step (12.4 %; 1.0 % beyond other causes)", "58.0 GB of memory".
std::string gain_text(const Advice& advice, const AdviceFinding& finding);

}  // namespace rangefinder::report
