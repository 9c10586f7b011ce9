// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace rangefinder::analysis {

/// Floating point operations of one call, a multiplication and an addition as two: the operators and formulas of
/// torch.profiler (with_flops), and scaled dot product attention besides. 0 for other operators, and where shapes or
/// values (OperatorTable) are missing or make no sense.
std::uint64_t operator_flops(std::string_view name, std::string_view shapes, std::string_view values);

/// Whether it is one of those operators.
bool has_operator_flops(std::string_view name) noexcept;

/// Bytes of the inputs and the output of one of those operators, each once: the least that it moves. 0 for others.
std::uint64_t operator_bytes(std::string_view name, std::string_view shapes, std::string_view types,
                             std::string_view values);

/// The type that it computes in, as OperatorTable::types has it: "float", "c10::BFloat16"; empty where it is not told.
std::string_view operator_type(std::string_view name, std::string_view types);

}  // namespace rangefinder::analysis
