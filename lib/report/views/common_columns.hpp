// SPDX-License-Identifier: MIT
#pragma once

#include "report/columns.hpp"
#include "report/views/places.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Columns and figures that the views of our own have in common. One word an idea: `GPU busy` is a union, `GPU sum` adds
// up.
namespace rangefinder::report::common {

/// A time that may be kNoTime.
inline std::optional<std::int64_t> if_time(std::int64_t ns) { return if_that(ns != kNoTime, ns); }

/// Of times that may be kNoTime: nothing then.
inline std::optional<std::int64_t> length_between(std::int64_t begin_ns, std::int64_t end_ns) {
  if (begin_ns == kNoTime || end_ns == kNoTime) return std::nullopt;
  return end_ns - begin_ns;
}

/// The number by which programs know a path; nothing for words in the place of one.
inline std::optional<std::int64_t> path_id(const Paths& paths, Paths::Node node) {
  if (node == Paths::kNothing || paths.id(node) == 0) return {};
  return paths.id(node);
}

/// The number of a path that is not the row's own, which is in a column of that title.
template <typename Row, typename PathOf>
void add_id_of(ColumnsOf<Row>& columns, const std::string& title, PathOf path_of) {
  const auto id = [path_of](const Row& row, const Paths& paths) { return path_id(paths, std::invoke(path_of, row)); };
  columns.count(title + " id", id).for_programs();
}

/// Numbers of the row's path, and of the one around it, by which programs find what is inside what.
template <typename Row, typename PathOf>
void add_ids(ColumnsOf<Row>& columns, PathOf path_of) {
  const auto id = [path_of](const Row& row, const Paths& paths) { return path_id(paths, std::invoke(path_of, row)); };
  const auto parent_id = [path_of](const Row& row, const Paths& paths) {
    return path_id(paths, paths.around(std::invoke(path_of, row)));
  };
  columns.count("Id", id).for_programs();
  columns.count("Parent id", parent_id).for_programs();
}

/// Of a row of work by range: the name of its ranges, or why the work has none.
template <typename Row>
CellText range_or_reason(const Row& row) {
  if (row.unowned) return unowned_word(static_cast<std::uint32_t>(*row.unowned));
  return row.range;
}

/// What bounds a count of operations where the timeline has CUDA graphs with conditional nodes (`any`), for
/// Column::bounded_by: CUPTI does not record all that ran of those.
inline std::string_view conditional_title(bool any) { return any ? "Of conditional graphs" : ""; }
/// How many operations are of such graphs; no column where there are none.
template <typename Row, typename Count>
void add_conditional(ColumnsOf<Row>& columns, bool any, Count count) {
  if (any) columns.count(std::string(conditional_title(any)), std::move(count)).for_programs();
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

/// The mean, rounded to nearest; nothing of nothing.
inline std::optional<std::int64_t> mean(std::int64_t total, std::uint64_t count) {
  const auto n = static_cast<std::int64_t>(count);
  if (n == 0) return {};
  return (total >= 0 ? total + n / 2 : total - n / 2) / n;
}

/// Bytes a nanosecond are gigabytes a second: hundredths of those. Nothing in no time.
inline std::optional<std::int64_t> gigabytes_per_second(std::uint64_t bytes, std::int64_t time_ns) {
  if (time_ns <= 0) return {};
  return static_cast<std::int64_t>(static_cast<__int128>(bytes) * 100 / time_ns);
}

}  // namespace rangefinder::report::common
