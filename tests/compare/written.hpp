// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"

#include <rangefinder/compare.hpp>
#include <rangefinder/gate.hpp>

#include <string>
#include <string_view>

// Results of comparisons as the text that users get.
namespace rangefinder::testing {

/// What `write(sink)` writes, which succeeds.
template <typename Write>
std::string written_by(Write write) {
  std::string text;
  const Status status = write([&](std::string_view piece) {
    text += piece;
    return true;
  });
  REQUIRE(status.ok());
  return text;
}

inline std::string written(const RunDifference& difference, DiffFormat format) {
  DiffTextOptions options;
  options.format = format;
  return written_by([&](const auto& sink) { return write_difference(difference, options, sink); });
}

inline std::string written(const GateResult& result, GateFormat format) {
  GateTextOptions options;
  options.format = format;
  return written_by([&](const auto& sink) { return write_gate(result, options, sink); });
}

}  // namespace rangefinder::testing
