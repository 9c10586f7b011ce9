// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

// What switches a terminal's colours.
namespace rangefinder::base::colour {

inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kRed = "\x1b[31m";
inline constexpr std::string_view kGreen = "\x1b[32m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kPlain = "\x1b[0m";

}  // namespace rangefinder::base::colour
