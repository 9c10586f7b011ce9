// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

// Types of tensors' elements as OperatorTable::types has them: "float", "c10::BFloat16", "long int".
namespace rangefinder::analysis {

/// Bytes of an element; 0 for what is no tensor, and types that are not known.
std::int64_t element_bytes(std::string_view type) noexcept;

/// Integers and bool.
bool is_integral(std::string_view type) noexcept;

/// The type that PyTorch gives a result of both: the higher of bool, integers, floating point, complex; of one of these
/// the larger, and float of Half and BFloat16. Empty text is no type: the other one.
std::string_view promoted(std::string_view a, std::string_view b) noexcept;

}  // namespace rangefinder::analysis
