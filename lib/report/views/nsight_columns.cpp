// SPDX-License-Identifier: MIT
#include "report/views/nsight_columns.hpp"

#include <iterator>
#include <utility>

namespace rangefinder::report::nsight {

Column text_column(std::string name) { return {std::move(name), "", ColumnType::kText}; }
Column kernel_column(std::string name, bool inside_range) {
  Column column = text_column(std::move(name));
  if (!inside_range) column.names = Names::kKernels;
  return column;
}
Column stack_column(std::string name) { return {std::move(name), "", ColumnType::kIdStack}; }
Column tree_column(std::string name) { return {std::move(name), "", ColumnType::kNameTree}; }
Column count_column(std::string name) { return {std::move(name), "", ColumnType::kInteger}; }
Column decimal_column(std::string name, std::string unit, int places) {
  return {std::move(name), std::move(unit), ColumnType::kDecimal, places};
}
Column time_column(std::string name) { return {std::move(name), "ns", ColumnType::kNanoseconds}; }
Column mean_time_column(std::string name) { return {std::move(name), "ns", ColumnType::kNanoseconds, 1}; }
Column timestamp_column(std::string name) { return {std::move(name), "ns", ColumnType::kTimestamp}; }

std::vector<Column> spread_columns(const std::string& prefix) {
  return {mean_time_column(prefix + "Avg"), mean_time_column(prefix + "Med"), time_column(prefix + "Min"),
          time_column(prefix + "Max"), mean_time_column(prefix + "StdDev")};
}

void add_spread(Table& table, const analysis::Spread& spread) {
  const bool any = spread.count != 0;
  table.optional(any, any ? spread.mean(1) : 0)
      .optional(any, spread.median(1))
      .optional(any, spread.min)
      .optional(any, spread.max)
      .number(spread.standard_deviation(1));
}

std::vector<Column> time_sum_columns(const std::string& count_name) {
  return joined({decimal_column("Time", "%", 1), time_column("Total Time"), count_column(count_name)},
                spread_columns(""));
}

void add_time_sum(Table& table, const analysis::Spread& spread, __int128 total) {
  table.number(total == 0 ? 0 : analysis::rounded_quotient(spread.total * 100, total, 1))
      .number(spread.total_saturated())
      .number(static_cast<std::int64_t>(spread.count));
  add_spread(table, spread);
}

std::vector<Column> joined(std::vector<Column> first, std::vector<Column> rest) {
  first.insert(first.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return first;
}

Table& add_label(Table& table, const analysis::nsight::Labels& labels, analysis::nsight::Label label) {
  return labels.is_name(label) ? table.text(labels.timeline(), static_cast<StringId>(label))
                               : table.text(labels.text(label));
}

Paths::Node add_labelled_path(Table& table, Paths::Node around, std::int64_t id, const analysis::nsight::Labels& labels,
                              analysis::nsight::Label label) {
  return labels.is_name(label) ? table.paths().add(around, id, labels.timeline(), static_cast<StringId>(label))
                               : table.paths().add(around, id, labels.text(label));
}

Table& add_thread(Table& table, const Timeline& timeline, ThreadIndex thread) {
  const analysis::nsight::ThreadNumbers numbers = analysis::nsight::numbers_of(timeline, thread);
  return table.optional(numbers.known, numbers.pid).optional(numbers.known, numbers.tid);
}

std::string_view style_name(RangeStyle style) noexcept { return style == RangeStyle::kScoped ? "PushPop" : "StartEnd"; }

}  // namespace rangefinder::report::nsight
