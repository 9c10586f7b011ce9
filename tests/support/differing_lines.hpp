// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace rangefinder::testing {

/// What is in one of two sorted lists only, a line each: "- " of what is missing, then "+ " of what is too much.
inline std::string differing_lines(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  std::string out;
  std::vector<std::string> only;
  std::set_difference(expected.begin(), expected.end(), got.begin(), got.end(), std::back_inserter(only));
  for (const std::string& line : only) out += "- " + line + "\n";
  only.clear();
  std::set_difference(got.begin(), got.end(), expected.begin(), expected.end(), std::back_inserter(only));
  for (const std::string& line : only) out += "+ " + line + "\n";
  return out;
}

}  // namespace rangefinder::testing
