// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/operator_shapes.hpp"

#include <string_view>
#include <vector>

namespace rangefinder::analysis {

/// Whether it is scaled_dot_product_attention, what that calls, what that calls again, or the backward pass of one.
/// Names come without "aten::".
bool is_attention(std::string_view name) noexcept;

/// Only pairs of a query and a key that is_causal, custom_mask_type or a window leave; all where `values` do not tell
/// them, and for masks that are tensors. Nothing where shapes make no sense, or lengths of sequences differ and so are
/// not in the shapes.
Flops attention_flops(std::string_view name, const std::vector<Shape>& shapes,
                      const std::vector<std::string_view>& values);

/// What it gives: attention, or the gradients of query, key and value. Its shapes are ones with FLOPs.
std::vector<Shape> attention_outputs(std::string_view name, const std::vector<Shape>& shapes);

}  // namespace rangefinder::analysis
