// SPDX-License-Identifier: MIT
#pragma once

#include "capi/status.hpp"

#include <rangefinder/c/rangefinder.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct rf_text {
  std::string text;
};

namespace rangefinder::capi {

inline rf_text* make_text(std::string text) { return new rf_text{std::move(text)}; }

/// Null stands for `otherwise`.
inline std::string text_or(const char* text, const char* otherwise = "") { return text != nullptr ? text : otherwise; }

/// Adds a list of texts. `argument`: what the list is called, where it or one of its texts is null.
rf_status read_texts(std::string_view function, std::string_view argument, const char* const* given, std::size_t count,
                     std::vector<std::string>& texts);

}  // namespace rangefinder::capi
