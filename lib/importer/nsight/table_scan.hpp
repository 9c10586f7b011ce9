// SPDX-License-Identifier: MIT
#pragma once

#include "importer/nsight/import_context.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rangefinder::importer::nsight {

/// A column that a reader wants. Nsight's schema changes from version to version: only what a row means nothing
/// without is required.
struct WantedColumn {
  enum class How : std::uint8_t {
    kRequired,
    kOptional,
    kPresence,  ///< only whether there is a value: 0 or 1
  };
  const char* name;
  How how = How::kOptional;
};
constexpr WantedColumn required(const char* name) { return {name, WantedColumn::How::kRequired}; }
constexpr WantedColumn optional(const char* name) { return {name, WantedColumn::How::kOptional}; }
constexpr WantedColumn presence_of(const char* name) { return {name, WantedColumn::How::kPresence}; }

/// One pass over a table, its columns by position in the wanted columns. Values of a wrong type are absent and counted,
/// damage ends the scan; the destructor leaves a note of what was not read.
class TableScan {
 public:
  /// Not `usable()` when the table is absent, no plain table, or lacks a required column; the last two leave a note.
  TableScan(ImportContext& context, const char* table, std::span<const WantedColumn> columns);
  ~TableScan();
  TableScan(const TableScan&) = delete;
  TableScan& operator=(const TableScan&) = delete;

  bool usable() const noexcept { return statement_ != nullptr; }
  bool has(int column) const noexcept { return (present_ >> column & 1) != 0; }
  bool next();

  /// The row's own number; its position, from 1, in a table without.
  std::int64_t row_id() const noexcept;
  std::optional<std::int64_t> integer(int column);
  std::int64_t integer_or(int column, std::int64_t otherwise) { return integer(column).value_or(otherwise); }
  /// Clamped to what fits.
  std::uint32_t u32_or(int column, std::uint32_t otherwise);
  std::optional<double> real(int column);
  /// Valid until the next call of next().
  std::optional<std::string_view> text(int column);

  /// This row is not used, and why; the note gives the first reason.
  void reject(const char* why);

 private:
  std::string selection(const TableSchema& schema, std::span<const WantedColumn> columns, std::string& missing);
  void stop(const std::string& why);

  ImportContext& context_;
  std::string table_;
  Statement statement_;
  std::uint64_t present_ = 0;
  bool has_rowid_ = true;
  std::uint64_t rows_ = 0;
  std::uint64_t text_bytes_ = 0;
  std::uint64_t mistyped_ = 0;
  std::uint64_t rejected_ = 0;
  std::int64_t first_rejected_ = 0;
  const char* first_reason_ = "";
};

/// A begin and end that can be subtracted without overflow, in order.
bool valid_interval(std::int64_t begin, std::int64_t end) noexcept;
bool valid_time(std::int64_t time) noexcept;

}  // namespace rangefinder::importer::nsight
