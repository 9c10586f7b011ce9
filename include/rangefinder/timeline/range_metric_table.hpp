// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct RangeMetricRow {
  using Table = class RangeMetricTable;

  RangeIndex range{};
  DeviceIndex device{};
  /// "dram_read_bytes". The name ends in the unit; what ends in _ratio is an average of 0 to 1, all else a sum over the
  /// range. docs/reference/counters.md has the list.
  StringId metric = StringId::kEmpty;
  double value = 0;
};

/// Hardware counters of range instances, by CUPTI's range profiler (SessionOptions::counters). In order of range.
class RangeMetricTable : public detail::Table<RangeMetricTable, RangeMetricRow> {
 public:
  TableColumn<&RangeMetricRow::range> range;
  TableColumn<&RangeMetricRow::device> device;
  TableColumn<&RangeMetricRow::metric> metric;
  TableColumn<&RangeMetricRow::value> value;

  using detail::Table<RangeMetricTable, RangeMetricRow>::reorder;

 private:
  friend detail::Table<RangeMetricTable, RangeMetricRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.range, self.device, self.metric, self.value);
  }
};

}  // namespace rangefinder
