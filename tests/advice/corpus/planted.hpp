// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/cases.hpp"

#include <vector>

// Whether the corpus is what it says, without any advice.
namespace rangefinder::testing::corpus {

/// Causes cost what a cause costs, the first one most; programs could have run so; a third is healthy. Prints what each
/// cause costs.
void check_planted(const char* half, const std::vector<AdviceCase>& cases);

/// What is played through the recorder comes out as it is built otherwise.
void check_recordings(const std::vector<AdviceCase>& cases);

}  // namespace rangefinder::testing::corpus
