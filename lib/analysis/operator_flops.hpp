// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace rangefinder::analysis {

/// Floating point operations of one call, a multiplication and an addition as two: the operators and formulas of
/// torch.profiler (with_flops), and those of torch.utils.flop_counter for attention, backward passes and products of
/// 8-bit numbers; of convolutions in groups the weights' gradient as often as it is computed, which that counts for
/// all. 0 for other operators, and where shapes or values (OperatorTable) are missing or make no sense.
std::uint64_t operator_flops(std::string_view name, std::string_view shapes, std::string_view values);

/// The same of the operators alone that key averages count: those of torch.profiler, and scaled dot product attention.
/// 0 for what attention calls in turn, and for backward passes.
std::uint64_t key_average_flops(std::string_view name, std::string_view shapes, std::string_view values);

/// Whether it is an operator of operator_flops.
bool has_operator_flops(std::string_view name) noexcept;

/// Bytes of the inputs and outputs of one of those operators, each once: the least that it moves. 0 for others.
std::uint64_t operator_bytes(std::string_view name, std::string_view shapes, std::string_view types,
                             std::string_view values);

/// The type that it computes in, as OperatorTable::types has it: "float", "c10::BFloat16"; empty where it is not told.
std::string_view operator_type(std::string_view name, std::string_view types);

}  // namespace rangefinder::analysis
