// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::testing {

/// The lines of a CSV file, each by the names of its first line. Fields between quotes may hold commas, line ends, and
/// quotes written twice.
inline std::vector<std::map<std::string, std::string>> csv_records(std::string_view text) {
  std::vector<std::vector<std::string>> lines(1);
  std::string field;
  bool quoted = false;
  const auto end_field = [&] { lines.back().push_back(std::exchange(field, {})); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      field += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (quoted || (c != ',' && c != '\n')) {
      if (quoted || c != '\r') field += c;
    } else {
      end_field();
      if (c == '\n') lines.emplace_back();
    }
  }
  if (!field.empty() || !lines.back().empty()) end_field();
  std::vector<std::map<std::string, std::string>> records;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != lines[0].size()) continue;  // the empty line at the end
    records.emplace_back();
    for (std::size_t column = 0; column < lines[i].size(); ++column)
      records.back()[lines[0][column]] = lines[i][column];
  }
  return records;
}

}  // namespace rangefinder::testing
