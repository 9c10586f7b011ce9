// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rangefinder::analysis {

/// Operators that torch.utils.flop_counter counts as none by convention, though some compute: views, copies and
/// gathers, creation and random numbers, comparisons, and what works element by element, optimizers included. In place
/// and backward of these as well. Not reductions, and not what calls other operators.
bool is_operator_without_flops(std::string_view name) noexcept;

}  // namespace rangefinder::analysis
