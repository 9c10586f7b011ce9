// SPDX-License-Identifier: MIT
#include "report/table.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

namespace rangefinder::report {
namespace {

bool is_alphanumeric(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string key_of(std::string_view text) {
  std::string key;
  for (const char c : text) {
    if (is_alphanumeric(c)) {
      key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!key.empty() && key.back() != '_') {
      key += '_';
    }
  }
  while (!key.empty() && key.back() == '_') key.pop_back();
  return key;
}

std::string Column::key() const { return key_of(title + "_" + (unit == "%" ? "percent" : unit)); }

std::string Column::header() const { return unit.empty() ? title : title + " (" + unit + ")"; }

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)), cells_(columns_.size()) {
  const auto named =
      std::find_if(columns_.begin(), columns_.end(), [](const Column& column) { return column.names_rows; });
  if (named != columns_.end()) name_column_ = static_cast<std::size_t>(named - columns_.begin());
}

Table& Table::number(std::int64_t value) {
  cells_.push_back(value);
  return *this;
}

std::string_view Table::text_at(std::size_t row, std::size_t column, std::string& buffer) const {
  if (columns()[column].type != ColumnType::kPath || is_null(row, column)) return readable_text_at(row, column, buffer);
  const Paths::Node node = path_at(row, column);
  buffer = paths_.is_short(node) ? paths_.text(node) : "";
  return buffer;
}

std::string_view Table::readable_text_at(std::size_t row, std::size_t column, std::string& buffer) const {
  if (is_null(row, column)) return {};
  const Paths::Node node = path_at(row, column);
  switch (columns()[column].type) {
    case ColumnType::kPath:
      return buffer = paths_.readable(node);
    case ColumnType::kPathName:
      return paths_.name(node);
    case ColumnType::kNameTree:
      return buffer = paths_.name_tree(node);
    case ColumnType::kIdStack:
      return buffer = paths_.id_stack(node);
    default:
      return texts_.text(static_cast<Texts::Id>(number_at(row, column)));
  }
}

void Table::choose(std::vector<std::size_t> columns) {
  std::vector<Column> kinds;
  for (const std::size_t column : columns) {
    Column kind = this->columns()[column];
    kind.in_text = InText::kAlways;
    kind.dispensable = 0;
    kinds.push_back(std::move(kind));
  }
  if (!chosen_.empty())
    for (std::size_t& column : columns) column = chosen_[column];
  chosen_ = std::move(columns);
  chosen_columns_ = std::move(kinds);
}

bool Table::is_lower_bound(std::size_t row, std::size_t column) const noexcept {
  const std::string& bound_by = columns()[column].bound_by;
  if (bound_by.empty()) return false;
  for (std::size_t stored = 0; stored < columns_.size(); ++stored) {
    if (columns_[stored].title != bound_by) continue;
    const std::int64_t count = stored_cell(row, stored);
    return count != kNull && count != 0;
  }
  return false;
}

void Table::select(const std::vector<std::uint32_t>& rows) {
  std::vector<std::uint32_t> stored;
  stored.reserve(rows.size());
  for (const std::uint32_t row : rows) stored.push_back(ordered_ ? order_[row] : row);
  order_ = std::move(stored);
  ordered_ = true;
}

std::vector<std::string> unique_keys(const std::vector<Column>& columns) {
  std::vector<std::string> keys;
  for (const Column& column : columns) {
    const std::string key = column.key();
    std::string candidate = key;
    for (int number = 2; std::find(keys.begin(), keys.end(), candidate) != keys.end(); ++number)
      candidate = key + "_" + std::to_string(number);
    keys.push_back(std::move(candidate));
  }
  return keys;
}

void append_plain_number(std::string& out, std::int64_t value, int places) {
  char digits[kMaxDigits];
  char* const end = std::end(digits);
  const char* const begin = write_plain_number(end, value, places);
  out.append(begin, static_cast<std::size_t>(end - begin));
}

char* write_plain_number(char* end, std::int64_t value, int places) noexcept {
  std::uint64_t rest = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const auto put_digit = [&] {
    *--end = static_cast<char>('0' + rest % 10);
    rest /= 10;
  };
  for (int decimal = 0; decimal < places; ++decimal) put_digit();
  if (places != 0) *--end = '.';
  do put_digit();
  while (rest != 0);
  if (value < 0) *--end = '-';
  return end;
}

std::int64_t cell_of_real(double value) noexcept {
  // The bits of -0.0 are those of kNull.
  return std::isfinite(value) ? std::bit_cast<std::int64_t>(value == 0 ? 0.0 : value) : kNull;
}

double real_of_cell(std::int64_t cell) noexcept { return std::bit_cast<double>(cell); }

void append_exact(std::string& out, const Column& column, std::int64_t cell) {
  if (column.type != ColumnType::kReal) return append_plain_number(out, cell, column.places);
  char digits[32];
  out.append(digits, std::to_chars(std::begin(digits), std::end(digits), real_of_cell(cell)).ptr);
}

std::string plain_number(std::int64_t value, int places) {
  std::string out;
  append_plain_number(out, value, places);
  return out;
}

}  // namespace rangefinder::report
