// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <array>
#include <cstdint>
#include <tuple>

namespace rangefinder {

struct CpuCounterRow {
  using Table = class CpuCounterTable;

  RangeIndex range{};
  std::array<std::int64_t, kCpuEvents> counts{-1, -1, -1, -1, -1, -1, -1, -1, -1};  ///< by CpuEvent; -1: not counted
};

/// Events of the processor in ranges, with all inside them on their thread; a row for each range that has any, in order
/// of range.
class CpuCounterTable : public detail::Table<CpuCounterTable, CpuCounterRow> {
 public:
  TableColumn<&CpuCounterRow::range> range;
  TableColumn<&CpuCounterRow::counts> counts;

 private:
  friend detail::Table<CpuCounterTable, CpuCounterRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.range, self.counts);
  }
};

}  // namespace rangefinder
