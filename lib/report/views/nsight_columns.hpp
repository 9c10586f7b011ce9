// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/labels.hpp"
#include "analysis/nsight/ranges.hpp"
#include "analysis/spread.hpp"
#include "report/table.hpp"

#include <string>
#include <string_view>
#include <vector>

// What the views under Nsight's names have in common: its column names, its units and its rounding.
namespace rangefinder::report::nsight {

Column text_column(std::string name);
/// Names of kernels; with `inside_range` a range's name stands in front.
Column kernel_column(std::string name, bool inside_range = false);
/// The ids of the ranges around a row and its own.
Column stack_column(std::string name);
/// The name, indented.
Column tree_column(std::string name);
Column count_column(std::string name);
Column decimal_column(std::string name, std::string unit, int places);
/// Exact nanoseconds.
Column time_column(std::string name);
/// Nanoseconds with one decimal: averages.
Column mean_time_column(std::string name);
Column timestamp_column(std::string name);

/// The statistics of one quantity: Avg, Med, Min, Max, StdDev, each with `prefix` in front.
std::vector<Column> spread_columns(const std::string& prefix);
/// Fills them; of a spread without values only the deviation is there, and 0.0.
void add_spread(Table& table, const analysis::Spread& spread);

/// Time (%), Total Time, and what is counted, under its name; then the statistics.
std::vector<Column> time_sum_columns(const std::string& count_name);
/// Fills them. `total` is that of the whole report.
void add_time_sum(Table& table, const analysis::Spread& spread, __int128 total);

/// Appends columns.
std::vector<Column> joined(std::vector<Column> first, std::vector<Column> rest);

/// A text cell.
Table& add_label(Table& table, const analysis::nsight::Labels& labels, analysis::nsight::Label label);
/// A path, inside the one `around`.
Paths::Node add_labelled_path(Table& table, Paths::Node around, std::int64_t id, const analysis::nsight::Labels& labels,
                              analysis::nsight::Label label);

/// The cells PID and TID, empty for a thread that is not known.
Table& add_thread(Table& table, const Timeline& timeline, ThreadIndex thread);

std::string_view style_name(RangeStyle style) noexcept;

inline constexpr std::int64_t kBytesPerMegabyte = 1'000'000;

}  // namespace rangefinder::report::nsight
