// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rangefinder::importer {

/// What the name behind AssembledOperator::inputs tells: three lists, JSON. All empty where it is damaged.
struct OperatorInputs {
  std::string_view shapes, types, values;
};

inline OperatorInputs split_inputs(std::string_view text) noexcept {
  const std::size_t first = text.find('\n');
  const std::size_t second = first != std::string_view::npos ? text.find('\n', first + 1) : first;
  if (second == std::string_view::npos) return {};
  return {text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

}  // namespace rangefinder::importer
