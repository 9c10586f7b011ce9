// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/rangefinder.h>

#include <string>
#include <utility>

struct rf_text {
  std::string text;
};

namespace rangefinder::capi {

inline rf_text* make_text(std::string text) { return new rf_text{std::move(text)}; }

/// Null stands for `otherwise`.
inline std::string text_or(const char* text, const char* otherwise = "") { return text != nullptr ? text : otherwise; }

}  // namespace rangefinder::capi
