// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct PmSampleRow {
  using Table = class PmSampleTable;

  DeviceIndex device{};
  StringId metric = StringId::kEmpty;  ///< as in RangeMetricRow
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  double value = 0;  ///< of this interval
};

/// Samples of a device's hardware counters (SessionOptions::samples). In order of device, metric, begin.
class PmSampleTable : public detail::Table<PmSampleTable, PmSampleRow> {
 public:
  TableColumn<&PmSampleRow::device> device;
  TableColumn<&PmSampleRow::metric> metric;
  TableColumn<&PmSampleRow::begin_ns> begin_ns;
  TableColumn<&PmSampleRow::end_ns> end_ns;
  TableColumn<&PmSampleRow::value> value;

  using detail::Table<PmSampleTable, PmSampleRow>::reorder;

 private:
  friend detail::Table<PmSampleTable, PmSampleRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.device, self.metric, self.begin_ns, self.end_ns, self.value);
  }
};

}  // namespace rangefinder
