// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Columns that the views of our own have in common. One word an idea: `GPU busy` is a union, `GPU sum` adds up.
namespace rangefinder::report::own {

inline Column text(std::string name) { return {std::move(name), {}, ColumnType::kText, 0}; }
/// Names of kernels, or of device operations in general.
inline Column kernel(std::string name) {
  Column column = text(std::move(name));
  column.names = Names::kKernels;
  return column;
}
/// Paths of ranges.
inline Column path(std::string name) { return {std::move(name), {}, ColumnType::kPath, 0}; }
inline Column path_name(std::string name) { return {std::move(name), {}, ColumnType::kPathName, 0}; }
inline Column count(std::string name) { return {std::move(name), {}, ColumnType::kInteger, 0}; }
inline Column time(std::string name) { return {std::move(name), "ns", ColumnType::kNanoseconds, 0}; }
inline Column timestamp(std::string name) { return {std::move(name), "ns", ColumnType::kTimestamp, 0}; }
inline Column bytes(std::string name) { return {std::move(name), "B", ColumnType::kBytes, 0}; }
inline Column flops(std::string name) { return {std::move(name), {}, ColumnType::kFlops, 0}; }
inline Column real(std::string name) { return {std::move(name), {}, ColumnType::kReal, 0}; }
inline Column percent(std::string name) { return {std::move(name), "%", ColumnType::kDecimal, 1}; }
inline Column decimal(std::string name, std::string unit, int places) {
  return {std::move(name), std::move(unit), ColumnType::kDecimal, places};
}

/// For programs: text for people does without it.
inline Column for_programs(Column column) {
  column.in_text = InText::kNever;
  return column;
}
/// Of device activity: text leaves it out where no row has any.
inline Column if_any(Column column) {
  column.in_text = InText::kUnlessEmpty;
  return column;
}
/// What a narrow terminal has no room for; the highest number goes first.
inline Column if_room(std::uint8_t dispensable, Column column) {
  column.dispensable = dispensable;
  return column;
}

/// Numbers of a path, and of the one around it, by which programs find what is inside what.
inline void add_id_columns(std::vector<Column>& columns) {
  columns.push_back(for_programs(count("Id")));
  columns.push_back(for_programs(count("Parent id")));
}
/// The same of a path in a column of that name, which is not the row's own.
inline Column id_of(const std::string& name) { return for_programs(count(name + " id")); }
inline void add_id(Table& table, Paths::Node node) {
  const bool any = node != Paths::kNothing && table.paths().id(node) != 0;
  table.optional(any, any ? table.paths().id(node) : 0);
}
inline void add_ids(Table& table, Paths::Node node) {
  add_id(table, node);
  add_id(table, table.paths().around(node));
}

/// A count of operations, and for programs how many of them are of CUDA graphs with conditional nodes. CUPTI does not
/// record all that ran of those. `any`: the timeline has such graphs; without, there is no second column.
inline Column may_be_more(bool any, Column column) {
  if (any) column.bound_by = "Of conditional graphs";
  return column;
}
inline void add_bound_column(std::vector<Column>& columns, bool any) {
  if (any) columns.push_back(for_programs(count("Of conditional graphs")));
}
inline void add_bound(Table& table, bool any, std::int64_t operations) {
  if (any) table.number(operations);
}

/// Tenths of a percent, rounded to nearest; nothing of nothing is nothing.
inline std::int64_t share(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return 0;
  return static_cast<std::int64_t>((static_cast<__int128>(part) * 2000 + whole) / (static_cast<__int128>(whole) * 2));
}

/// To nearest; what no column could hold is cut.
inline std::int64_t rounded(double value) {
  constexpr double kMax = 9e18;
  return static_cast<std::int64_t>(std::llround(std::clamp(value, -kMax, kMax)));
}

/// The mean, rounded to nearest.
inline std::int64_t mean(std::int64_t total, std::uint64_t count) {
  const auto n = static_cast<std::int64_t>(count);
  return n == 0 ? kNull : (total >= 0 ? total + n / 2 : total - n / 2) / n;
}

}  // namespace rangefinder::report::own
