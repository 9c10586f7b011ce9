// SPDX-License-Identifier: MIT
#include "report/json.hpp"

#include "base/text.hpp"

#include <utility>

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
    base::append_json_string(out, columns[i].name);
    out += ", \"unit\": ";
    base::append_json_string(out, columns[i].unit);
    out += ", \"type\": ";
    base::append_json_string(out, type_name(columns[i].type));
    out += '}';
  }
  out += "],\n";
}

}  // namespace

Status write_json(const Table& table, std::string_view view, const Footer& footer, const Sink& sink) {
  SinkBuffer out(sink);
  out.text() += "{\n  \"schema_version\": " + std::to_string(kJsonSchemaVersion) + ",\n  \"view\": ";
  base::append_json_string(out.text(), view);
  out.text() += ",\n";
  append_columns(out.text(), table.columns());
  out.text() += "  \"rows\": [";
  const std::vector<std::string> names = member_names(table.columns());
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    out.text() += row == 0 ? "\n    {" : ",\n    {";
    for (std::size_t column = 0; column < names.size(); ++column) {
      if (column != 0) out.text() += ", ";
      out.text() += names[column];
      if (table.is_null(row, column))
        out.text() += "null";
      else if (table.columns()[column].type == ColumnType::kText)
        base::append_json_string(out.text(), table.text_at(row, column));
      else
        append_plain_number(out.text(), table.number_at(row, column), table.columns()[column].places);
    }
    out.text() += '}';
    if (!out.flush_if_full()) break;
  }
  out.text() += "],\n  \"hidden_rows\": " + std::to_string(table.hidden_rows()) + ",\n  ";
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
