// SPDX-License-Identifier: MIT
#pragma once

#include "base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace rangefinder::base {

/// Facts of a capture: `left_out_domain:<number>`, from 1, names an NVTX domain that the program used and the recording
/// left out, as it was asked to; `left_out_domains` is how many there are, also those that are not named.
inline constexpr std::string_view kLeftOutDomain = "left_out_domain:";
inline constexpr std::string_view kLeftOutDomains = "left_out_domains";

/// Those of one capture or of several.
class LeftOutDomains {
 public:
  template <typename Metadata>
  void add(const Metadata& metadata) {
    for (const auto& [key, value] : metadata) {
      if (key.starts_with(kLeftOutDomain)) names_.insert(value);
      if (key == kLeftOutDomains) count_ = std::max<std::uint64_t>(count_, std::strtoull(value.c_str(), nullptr, 10));
    }
  }
  bool empty() const noexcept { return names_.empty(); }
  /// "PyTorch, default and 3 more"
  std::string text() const {
    std::string out;
    for (const std::string& name : names_) out += (out.empty() ? "" : ", ") + printable(name);
    if (count_ > names_.size()) out += " and " + with_thousands(count_ - names_.size()) + " more";
    return out;
  }

 private:
  std::set<std::string> names_;
  std::uint64_t count_ = 0;
};

}  // namespace rangefinder::base
