// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

// How LibTorch names what its autograd engine does, as its profilers write it down.
namespace rangefinder::timeline {

/// What the engine does for a node: its name follows, and the node itself is a range inside.
inline constexpr std::string_view kEvaluateNode = "autograd::engine::evaluate_function: ";

/// It has no number of its own; Kineto gives it that of the node.
inline bool evaluates(std::string_view outer, std::string_view node) noexcept {
  return outer.starts_with(kEvaluateNode) && outer.substr(kEvaluateNode.size()) == node;
}

/// Traces of old versions have a type's name here: "struct torch::autograd::AccumulateGrad".
inline bool is_gradient_accumulation(std::string_view name) noexcept {
  return name.ends_with("torch::autograd::AccumulateGrad");
}

/// "AddmmBackward0", "MyFunctionBackward", "struct torch::autograd::CopySlices".
inline bool is_node_name(std::string_view name) noexcept {
  if (is_gradient_accumulation(name) || name.ends_with("torch::autograd::CopySlices")) return true;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward");
}

}  // namespace rangefinder::timeline
