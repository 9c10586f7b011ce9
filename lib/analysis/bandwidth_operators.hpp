// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

// Operators of PyTorch that do little for each byte: how fast they can be is a matter of memory.
namespace rangefinder::analysis {

/// Whether bandwidth_bytes has a rule for it: normalization and softmax, elementwise operators and copies, reductions,
/// embeddings and gathers, in place and backward. Operators that take lists of tensors (cat, the foreach and fused
/// optimizers) have none: the types of their elements are not in the data.
bool is_bandwidth_operator(std::string_view name) noexcept;

/// Bytes of the inputs and outputs of one call, each once, of gathers only of the rows that are read: the least that it
/// moves. 0 for other operators, and where shapes, types or values (OperatorTable) are missing or make no sense.
///
///   bandwidth_bytes("aten::add", "[[8, 4], [4], []]", R"(["float", "float", "Scalar"])", "");  // 4 * (32 + 4 + 32)
std::uint64_t bandwidth_bytes(std::string_view name, std::string_view shapes, std::string_view types,
                              std::string_view values);

/// "GEMM", "attention", "convolution", "normalization", "elementwise", "reduction", "embedding"; "other" for the rest.
std::string_view operator_family(std::string_view name) noexcept;

}  // namespace rangefinder::analysis
