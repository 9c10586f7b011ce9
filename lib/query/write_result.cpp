// SPDX-License-Identifier: MIT
#include "query/write_result.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "report/table.hpp"
#include "report/text_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::query {
namespace {

constexpr int kJsonSchemaVersion = 1;

/// As short as it can be read back from.
std::string written(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

std::string written(const QueryValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return written(*real);
  if (const auto* words = std::get_if<std::string>(&value)) return *words;
  return {};
}

/// SQLite's columns may hold values of any type; those of a table have one.
report::ColumnType type_of(const QueryResult& result, std::size_t column) {
  bool integers = true, numbers = true;
  for (const std::vector<QueryValue>& row : result.rows) {
    const QueryValue& value = row[column];
    if (std::holds_alternative<std::string>(value)) return report::ColumnType::kText;
    if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && *integer == report::kNull)
      return report::ColumnType::kText;
    if (const auto* real = std::get_if<double>(&value)) {
      integers = false;
      if (!std::isfinite(*real)) numbers = false;
    }
  }
  if (integers) return report::ColumnType::kInteger;
  return numbers ? report::ColumnType::kReal : report::ColumnType::kText;
}

std::int64_t cell_of_value(report::Table& table, report::ColumnType type, const QueryValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return report::kNull;
  if (type == report::ColumnType::kText) return table.cell_of(written(value));
  if (type == report::ColumnType::kInteger) return std::get<std::int64_t>(value);
  const auto* integer = std::get_if<std::int64_t>(&value);
  return report::cell_of_real(integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value));
}

report::Table table_of_result(const QueryResult& result) {
  std::vector<report::Column> columns;
  for (std::size_t i = 0; i < result.columns.size(); ++i)
    columns.push_back({.title = result.columns[i], .type = type_of(result, i)});
  report::Table table(columns);
  for (const std::vector<QueryValue>& row : result.rows) {
    table.add_row();
    for (std::size_t i = 0; i < row.size(); ++i) table.set(i, cell_of_value(table, columns[i].type, row[i]));
  }
  return table;
}

/// Two columns of one name become name and name_2.
std::vector<std::string> member_names_of(const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    std::string name = column;
    for (std::size_t number = 2; std::find(names.begin(), names.end(), name) != names.end(); ++number)
      name = column + "_" + std::to_string(number);
    names.push_back(std::move(name));
  }
  return names;
}

void append_value(std::string& out, const QueryValue& value) {
  const auto* real = std::get_if<double>(&value);
  if (std::holds_alternative<std::monostate>(value) || (real != nullptr && !std::isfinite(*real)))
    out += "null";
  else if (const auto* words = std::get_if<std::string>(&value))
    base::append_json_string(out, *words);
  else
    out += written(value);
}

Status write_result_json(const QueryResult& result, const report::Sink& sink) {
  report::SinkBuffer out(sink);
  std::vector<std::string> names = member_names_of(result.columns);
  for (std::string& name : names) {
    std::string quoted;
    base::append_json_string(quoted, name);
    name = std::move(quoted);
  }
  out.text() += "{\n  \"schema_version\": " + std::to_string(kJsonSchemaVersion) + ",\n  \"columns\": [";
  for (std::size_t i = 0; i < names.size(); ++i) out.text() += (i == 0 ? "" : ", ") + names[i];
  out.text() += "],\n  \"rows\": [";
  for (std::size_t row = 0; row < result.rows.size(); ++row) {
    out.text() += row == 0 ? "\n    {" : ",\n    {";
    for (std::size_t i = 0; i < names.size(); ++i) {
      out.text() += (i == 0 ? "" : ", ") + names[i] + ": ";
      append_value(out.text(), result.rows[row][i]);
    }
    out.text() += '}';
    if (!out.flush_if_full()) break;
  }
  out.text() += std::string("],\n  \"truncated\": ") + (result.truncated ? "true" : "false") + "\n}\n";
  return out.finish();
}

void append_csv_value(std::string& out, const QueryValue& value, bool terminal) {
  const auto* words = std::get_if<std::string>(&value);
  if (words == nullptr)
    out += written(value);
  else
    // "-3" is no formula.
    base::append_csv_field(out, terminal ? base::printable(*words) : *words, !base::number_in<double>(*words));
}

/// As views are written: RFC 4180 with bare line feeds, numbers exact, nothing for NULL.
Status write_result_csv(const QueryResult& result, bool terminal, const report::Sink& sink) {
  report::SinkBuffer out(sink);
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    out.text() += i == 0 ? "" : ",";
    append_csv_value(out.text(), result.columns[i], terminal);
  }
  out.text() += '\n';
  for (const std::vector<QueryValue>& row : result.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out.text() += i == 0 ? "" : ",";
      append_csv_value(out.text(), row[i], terminal);
    }
    out.text() += '\n';
    if (!out.flush_if_full()) break;
  }
  return out.finish();
}

}  // namespace

Status write_result(const QueryResult& result, const QueryOutput& output, const report::Sink& sink) {
  switch (output.format) {
    case QueryFormat::kJson:
      return write_result_json(result, sink);
    case QueryFormat::kCsv:
      return write_result_csv(result, output.terminal, sink);
    case QueryFormat::kText:
      return report::write_text(table_of_result(result), {.utf8 = output.utf8, .width = output.width}, sink);
  }
  return Error(ErrorCode::kInvalidArgument, "query: no such format");
}

}  // namespace rangefinder::query
