// SPDX-License-Identifier: MIT
#include "report/find_column.hpp"

#include "base/text.hpp"
#include "report/columns.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace rangefinder::report {
namespace {

/// "a, b or c".
std::string alternatives(const std::vector<std::size_t>& columns, const std::vector<std::string>& keys) {
  std::string out;
  for (std::size_t i = 0; i < columns.size(); ++i)
    out += (i == 0 ? "" : i + 1 == columns.size() ? " or " : ", ") + keys[columns[i]];
  return out;
}

Error no_column(const std::vector<Column>& columns, const std::vector<std::string>& keys, std::string_view wanted) {
  std::vector<std::string> names(keys);
  for (const Column& column : columns) names.push_back(key_of(column.title));
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  std::string message = "no column \"" + base::printable(wanted) + "\"; ";
  const std::string_view nearest = base::nearest(key_of(wanted), candidates);
  const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), nearest) - names.begin());
  if (!nearest.empty()) message += "did you mean " + keys[at % keys.size()] + "? ";
  message += "the columns are";
  for (std::size_t i = 0; i < keys.size(); ++i) message += (i == 0 ? " " : ", ") + keys[i];
  return Error(ErrorCode::kInvalidArgument, message);
}

}  // namespace

Result<std::size_t> find_column(const std::vector<Column>& columns, std::string_view wanted) {
  const std::vector<std::string> keys = unique_keys(columns);
  const std::string key = key_of(wanted);
  const auto all_that = [&](auto is_meant) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < columns.size() && !key.empty(); ++i)
      if (is_meant(i)) found.push_back(i);
    return found;
  };
  std::vector<std::size_t> found = all_that([&](std::size_t i) { return keys[i] == key; });
  if (found.empty()) found = all_that([&](std::size_t i) { return key_of(columns[i].title) == key; });
  if (found.empty()) found = all_that([&](std::size_t i) { return keys[i].starts_with(key); });
  if (found.size() == 1) return found.front();
  if (found.empty()) return no_column(columns, keys, wanted);
  return Error(ErrorCode::kInvalidArgument,
               "\"" + base::printable(wanted) + "\" is ambiguous: " + alternatives(found, keys));
}

Status choose_columns(Table& table, std::string_view list) {
  std::vector<std::size_t> chosen;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    Result<std::size_t> found = find_column(table.columns(), list.substr(begin, end - begin));
    if (!found) return std::move(found).error().with_context("columns");
    if (std::find(chosen.begin(), chosen.end(), *found) == chosen.end()) chosen.push_back(*found);
    begin = end + 1;
  }
  table.choose(std::move(chosen));
  return {};
}

Table columns_of(const Table& table) {
  struct Row {
    const Column& column;
    const std::string& key;
  };
  ColumnsOf<Row> columns;
  columns.text("Column", [](const Row& row) -> const std::string& { return row.key; });
  columns.text("Title", [](const Row& row) -> const std::string& { return row.column.title; });
  columns.text("Unit", [](const Row& row) -> const std::string& { return row.column.unit; });
  columns.text("In text", [](const Row& row) {
    const InText in_text = row.column.in_text;
    return in_text == InText::kAlways ? "always" : in_text == InText::kNever ? "if chosen" : "unless empty";
  });
  Table list = columns.table();
  const std::vector<std::string> keys = unique_keys(table.columns());
  for (std::size_t i = 0; i < keys.size(); ++i) columns.add_row(list, {table.columns()[i], keys[i]});
  return list;
}

}  // namespace rangefinder::report
