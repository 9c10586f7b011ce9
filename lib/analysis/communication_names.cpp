// SPDX-License-Identifier: MIT
#include "analysis/communication_names.hpp"

#include <algorithm>
#include <cctype>

namespace rangefinder::analysis {

bool is_communication(std::string_view kernel) noexcept {
  const auto equal = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  for (const std::string_view library : {std::string_view("nccl"), std::string_view("rccl")})
    if (std::search(kernel.begin(), kernel.end(), library.begin(), library.end(), equal) != kernel.end()) return true;
  return false;
}

}  // namespace rangefinder::analysis
