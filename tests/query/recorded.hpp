// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdlib>
#include <string>
#include <utility>

namespace rangefinder::testing {

/// A capture of tests/data/captures.
inline Timeline recorded_timeline(const std::string& name) {
  const char* const root = std::getenv("RANGEFINDER_TEST_DATA");
  REQUIRE(root != nullptr);  // ctest sets it
  LoadOptions load;
  load.operator_inputs = true;
  Result<Timeline> timeline = load_timeline(std::string(root) + "/captures/" + name, load);
  if (!timeline) FAIL(timeline.error().message());
  return std::move(*timeline);
}

}  // namespace rangefinder::testing
