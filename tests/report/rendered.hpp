// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"

#include <rangefinder/report.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::testing {

inline constexpr std::int64_t kMs = 1'000'000;  ///< in nanoseconds

/// A report's whole text; it must succeed.
inline std::string rendered(const Timeline& timeline, const ReportOptions& options) {
  std::string text;
  const Status status = write_report(timeline, options, [&](std::string_view piece) {
    text.append(piece);
    return true;
  });
  REQUIRE(status.ok());
  return text;
}

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace rangefinder::testing
