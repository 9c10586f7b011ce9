// SPDX-License-Identifier: MIT
#include "report/csv.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

namespace rangefinder::report {

Status write_csv(const Table& table, const CsvOptions& options, const Sink& sink) {
  SinkBuffer out(sink);
  const std::vector<Column>& columns = table.columns();
  const auto append = [&](std::string_view text, bool defuse) {
    if (options.terminal)
      base::append_csv_field(out.text(), base::printable(text), defuse);
    else
      base::append_csv_field(out.text(), text, defuse);
  };
  std::string buffer;
  if (options.header) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      if (column != 0) out.text() += ',';
      append(columns[column].header(), false);
    }
    out.text() += '\n';
  }
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      if (column != 0) out.text() += ',';
      if (table.is_null(row, column)) continue;
      if (is_text(columns[column].type)) {
        const std::string_view text = table.text_at(row, column, buffer);
        append(text, options.defuse_formulas && !base::number_in<double>(text));  // "-3" is no formula
      } else {
        append_exact(out.text(), columns[column], table.number_at(row, column));
      }
    }
    out.text() += '\n';
    if (!out.flush_if_full()) break;
  }
  return out.finish();
}

std::string to_csv(const Table& table, const CsvOptions& options) {
  std::string text;
  (void)write_csv(table, options, [&](std::string_view piece) {
    text.append(piece);
    return Status();
  });
  return text;
}

}  // namespace rangefinder::report
