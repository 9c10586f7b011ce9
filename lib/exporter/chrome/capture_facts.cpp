// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_facts.hpp"

#include "exporter/chrome/clean_json.hpp"

#include <algorithm>
#include <string_view>

namespace rangefinder::chrome {

void add_capture_facts(DocumentFacts& facts, const JsonMembers& recorded) {
  if (recorded.empty()) return;
  std::string own = "{";
  for (const auto& [key, value] : recorded) {
    if (own.size() > 1) own += ", ";
    append_quoted(own, key);
    own += ": ";
    if (!append_clean_value(own, value)) own += "null";
    const bool known = key == "cuda_driver_version" || key == "cuda_runtime_version" || key == "cupti_version";
    const std::string number = text_of(value);
    const bool digits = !number.empty() && number.size() < 10 &&
                        std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (known && digits) facts.members.emplace_back(key, std::to_string(std::stol(number)));
  }
  facts.own.emplace_back("facts", own + "}");
}

}  // namespace rangefinder::chrome
