// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/rangefinder.h>
#include <rangefinder/health.hpp>

#include <vector>

struct rf_health {
  bool complete;
  std::vector<rangefinder::CaptureHealth::Entry> entries;
};

namespace rangefinder::capi {

inline rf_health* make_health(const CaptureHealth& health) {
  return new rf_health{health.complete(), health.entries()};
}

}  // namespace rangefinder::capi
