// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rangefinder::analysis {

/// Floating point operations of one call, a multiplication and an addition as two: the operators and formulas of
/// torch.profiler (with_flops), and those of torch.utils.flop_counter for convolutions, attention, backward passes and
/// products of 8-bit numbers. Otherwise than there:
/// - of attention only pairs of a query and a key count that `is_causal`, `custom_mask_type` and the windows of
///   _flash_attention_forward and _efficient_attention_forward leave, where `values` tell them; so do those of its
///   backward pass. All count where a mask is a tensor, whose content is not recorded, and of the backend `math`, which
///   computes them all, as many as the mask leaves.
/// - of convolutions in groups, the gradient of the weights counts as often as it is computed,
/// - _flash_attention_forward and _efficient_attention_forward take the sequence before the heads.
/// 0 for operators that have none by torch's convention (views, copies, elementwise). Nothing where it is not known:
/// other operators, and where shapes or values (OperatorTable) are missing or make no sense.
std::optional<std::uint64_t> operator_flops(std::string_view name, std::string_view shapes, std::string_view values);

/// Whether torch.profiler counts FLOPs of the operator, by itself or, of scaled dot product attention, what it calls.
bool torch_profiler_counts(std::string_view name) noexcept;

/// Whether operator_flops has a formula for it.
bool has_operator_flops(std::string_view name) noexcept;

/// Bytes of the inputs and outputs of one of those operators, or of one that bandwidth_bytes knows, each once: the
/// least that it moves. 0 for others. tests/analysis/tracelens_test.cpp compares both figures with TraceLens.
std::uint64_t operator_bytes(std::string_view name, std::string_view shapes, std::string_view types,
                             std::string_view values);

/// The type that it computes in, as OperatorTable::types has it: "float", "c10::BFloat16"; empty where it is not told.
std::string_view operator_type(std::string_view name, std::string_view types);

}  // namespace rangefinder::analysis
