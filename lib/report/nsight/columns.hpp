// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/device.hpp"
#include "analysis/nsight/labels.hpp"
#include "analysis/nsight/ranges.hpp"
#include "analysis/spread.hpp"
#include "report/columns.hpp"
#include "report/view.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// What the views under Nsight's names have in common: its column titles, its units and its rounding.
namespace rangefinder::report::nsight {

using analysis::Spread;
using analysis::nsight::Label;
using analysis::nsight::Labels;

/// How the view's variants want kernels to be named.
analysis::nsight::KernelNaming naming_of(const ViewOptions& options) noexcept;

/// The text of a label.
CellText text_of(const Labels& labels, Label label) noexcept;

/// A path, inside the one `around`.
Paths::Node add_labelled_path(Table& table, Paths::Node around, std::int64_t id, const Labels& labels, Label label);

std::string_view style_name(RangeStyle style) noexcept;

inline constexpr std::int64_t kBytesPerMegabyte = 1'000'000;

/// Names of kernels, which text shortens; not where the naming puts a range's name in front.
template <typename Row, typename Get>
Column& add_kernel(ColumnsOf<Row>& columns, const std::string& title, const analysis::nsight::KernelNaming& naming,
                   Get get) {
  return naming.innermost_range ? columns.text(title, std::move(get)) : columns.kernel(title, std::move(get));
}

/// Nanoseconds with one decimal: averages.
template <typename Row, typename Get>
Column& add_mean_time(ColumnsOf<Row>& columns, const std::string& title, Get get) {
  return columns.number({.title = title, .unit = "ns", .type = ColumnType::kNanoseconds, .places = 1}, std::move(get));
}

/// PID and TID, empty for a thread that is not known. `thread_of` gives a row's ThreadIndex.
template <typename Row, typename ThreadOf>
void add_thread(ColumnsOf<Row>& columns, const Timeline& timeline, ThreadOf thread_of, const char* pid = "PID",
                const char* tid = "TID") {
  using analysis::nsight::ThreadNumbers;
  const auto number = [&timeline, thread_of](std::int64_t ThreadNumbers::*which) {
    return [&timeline, thread_of, which](const Row& row) {
      const ThreadNumbers numbers = analysis::nsight::numbers_of(timeline, std::invoke(thread_of, row));
      return if_that(numbers.known, numbers.*which);
    };
  };
  columns.count(pid, number(&ThreadNumbers::pid));
  columns.count(tid, number(&ThreadNumbers::tid));
}

/// The statistics of one quantity: Avg, Med, Min, Max, StdDev, each with `prefix` in front. Of a spread without values
/// only the deviation is there, and 0.0. `spread_of` gives a row's Spread.
template <typename Row, typename SpreadOf>
void add_spread(ColumnsOf<Row>& columns, const std::string& prefix, SpreadOf spread_of) {
  const auto if_any = [spread_of](auto get) {
    return [spread_of, get](const Row& row) {
      const Spread& spread = std::invoke(spread_of, row);
      return figure_of(spread.count != 0 ? &spread : nullptr, get);
    };
  };
  const auto deviation = [spread_of](const Row& row) { return std::invoke(spread_of, row).standard_deviation(1); };
  add_mean_time(columns, prefix + "Avg", if_any([](const Spread& spread) { return spread.mean(1); }));
  add_mean_time(columns, prefix + "Med", if_any([](const Spread& spread) { return spread.median(1); }));
  columns.time(prefix + "Min", if_any(&Spread::min));
  columns.time(prefix + "Max", if_any(&Spread::max));
  add_mean_time(columns, prefix + "StdDev", deviation);
}

/// Time (%), Total Time, and what is counted, under its name; then the statistics. `total` is that of the whole report.
template <typename Row, typename SpreadOf>
void add_time_sum(ColumnsOf<Row>& columns, const std::string& count_title, SpreadOf spread_of, __int128 total) {
  const auto share = [spread_of, total](const Row& row) {
    return total == 0 ? 0 : analysis::rounded_quotient(std::invoke(spread_of, row).total * 100, total, 1);
  };
  const auto time = [spread_of](const Row& row) { return std::invoke(spread_of, row).total_saturated(); };
  columns.percent("Time", share);
  columns.time("Total Time", time);
  columns.count(count_title, [spread_of](const Row& row) { return std::invoke(spread_of, row).count; });
  add_spread(columns, "", spread_of);
}

}  // namespace rangefinder::report::nsight
