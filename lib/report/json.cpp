// SPDX-License-Identifier: MIT
#include "report/json.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rangefinder::report {
namespace {

std::string_view type_name(ColumnType type) noexcept {
  switch (type) {
    case ColumnType::kText:
      return "text";
    case ColumnType::kInteger:
      return "integer";
    case ColumnType::kDecimal:
      return "decimal";
    case ColumnType::kNanoseconds:
      return "duration";
    case ColumnType::kTimestamp:
      return "timestamp";
    case ColumnType::kBytes:
      return "bytes";
    case ColumnType::kFlops:
      return "integer";
    case ColumnType::kReal:
      return "decimal";
    case ColumnType::kPath:
      return "path";
    case ColumnType::kPathName:
    case ColumnType::kNameTree:
    case ColumnType::kIdStack:
      return "text";
  }
  return "text";
}

// Members of a row, `"key": ` each, already escaped.
std::vector<std::string> member_names(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const std::string& key : unique_keys(columns)) {
    names.emplace_back();
    base::append_json_string(names.back(), key);
    names.back() += ": ";
  }
  return names;
}

void append_columns(std::string& out, const std::vector<Column>& columns) {
  const std::vector<std::string> keys = unique_keys(columns);
  out += "  \"columns\": [";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out += i == 0 ? "\n    {\"key\": " : ",\n    {\"key\": ";
    base::append_json_string(out, keys[i]);
    out += ", \"name\": ";
    base::append_json_string(out, columns[i].title);
    out += ", \"unit\": ";
    base::append_json_string(out, columns[i].unit);
    out += ", \"type\": ";
    base::append_json_string(out, type_name(columns[i].type));
    out += '}';
  }
  out += "],\n";
}

void append_cell(std::string& out, const Table& table, std::size_t row, std::size_t column, std::string& buffer) {
  const Column& kind = table.columns()[column];
  if (table.is_null(row, column) ||
      (kind.type == ColumnType::kPath && !table.paths().is_short(table.path_at(row, column))))
    out += "null";
  else if (is_text(kind.type))
    base::append_json_string(out, table.text_at(row, column, buffer));
  else
    append_exact(out, kind, table.number_at(row, column));
}

bool has_paths(const Table& table) {
  const std::vector<Column>& columns = table.columns();
  return std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.type == ColumnType::kPath; });
}

/// The paths that rows refer to, and all around them, by id: outer ones first.
std::vector<Paths::Node> paths_of_rows(const Table& table) {
  const Paths& paths = table.paths();
  std::vector<bool> wanted(paths.size());
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    if (table.columns()[column].type != ColumnType::kPath) continue;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
      if (table.is_null(row, column)) continue;
      for (Paths::Node node = table.path_at(row, column); node != Paths::kNothing && !wanted[node];
           node = paths.around(node))
        wanted[node] = true;
    }
  }
  std::vector<Paths::Node> order;
  for (Paths::Node node = 0; node < paths.size(); ++node)
    if (wanted[node] && paths.id(node) != 0) order.push_back(node);
  const auto by_id = [&](Paths::Node a, Paths::Node b) { return paths.id(a) < paths.id(b); };
  if (!std::is_sorted(order.begin(), order.end(), by_id)) std::stable_sort(order.begin(), order.end(), by_id);
  return order;
}

void write_paths(SinkBuffer& out, const Table& table) {
  const Paths& paths = table.paths();
  out.text() += "  \"paths\": [";
  bool first = true;
  for (const Paths::Node node : paths_of_rows(table)) {
    out.text() += first ? "\n    {\"id\": " : ",\n    {\"id\": ";
    first = false;
    out.text() += std::to_string(paths.id(node)) + ", \"parent_id\": ";
    const Paths::Node around = paths.around(node);
    out.text() += around == Paths::kNothing ? "null" : std::to_string(paths.id(around));
    out.text() += ", \"name\": ";
    base::append_json_string(out.text(), paths.name(node));
    out.text() += '}';
    if (!out.flush_if_full()) break;
  }
  out.text() += "],\n";
}

}  // namespace

Status write_json(const Table& table, std::string_view view, const Footer& footer, const Sink& sink,
                  std::string_view members) {
  SinkBuffer out(sink);
  out.text() += "{\n  \"schema_version\": " + std::to_string(kJsonSchemaVersion) + ",\n  \"view\": ";
  base::append_json_string(out.text(), view);
  out.text() += ",\n";
  if (!members.empty()) out.text().append("  ").append(members).append(",\n");
  append_columns(out.text(), table.columns());
  out.text() += "  \"rows\": [";
  const std::vector<std::string> names = member_names(table.columns());
  std::string buffer;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    out.text() += row == 0 ? "\n    {" : ",\n    {";
    for (std::size_t column = 0; column < names.size(); ++column) {
      if (column != 0) out.text() += ", ";
      out.text() += names[column];
      append_cell(out.text(), table, row, column, buffer);
    }
    out.text() += '}';
    if (!out.flush_if_full()) break;
  }
  out.text() += "],\n";
  if (has_paths(table)) write_paths(out, table);
  out.text() += "  \"hidden_rows\": " + std::to_string(table.hidden_rows()) + ",\n  ";
  append_json_members(out.text(), footer);
  out.text() += "\n}\n";
  return out.finish();
}

std::string to_json(const Table& table, std::string_view view, const Footer& footer) {
  std::string text;
  (void)write_json(table, view, footer, [&](std::string_view piece) {
    text.append(piece);
    return Status();
  });
  return text;
}

}  // namespace rangefinder::report
