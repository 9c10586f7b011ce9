// SPDX-License-Identifier: MIT
#include "report/markdown.hpp"

#include "report/text_table.hpp"

#include <cstddef>

namespace rangefinder::report {

std::string markdown_text(std::string_view printable_text) {
  std::string out;
  for (const char c : printable_text) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_of(const Table& table) {
  // A name such as vector<float> is no HTML.
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find_first_of("|<", at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  const auto is_number = [](const Column& column) { return column.type != ColumnType::kText; };
  std::string head = "|", line = "|", out;
  for (const Column& column : table.columns()) {
    head += " " + cell(heading(column)) + " |";
    line += is_number(column) ? "---:|" : "---|";
  }
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    out += '|';
    for (std::size_t column = 0; column < table.columns().size(); ++column)
      out += " " + cell(readable_cell(table, row, column)) + " |";
    out += '\n';
  }
  return head + "\n" + line + "\n" + out;
}

}  // namespace rangefinder::report
