// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace rangefinder::analysis {

/// Floating point operations of one call, a multiplication and an addition as two: the operators and formulas of
/// torch.profiler (with_flops), and scaled dot product attention besides. 0 for other operators, and where shapes or
/// values (OperatorTable) are missing or make no sense.
std::uint64_t operator_flops(std::string_view name, std::string_view shapes, std::string_view values);

}  // namespace rangefinder::analysis
