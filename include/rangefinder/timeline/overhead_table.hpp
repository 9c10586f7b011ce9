// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct OverheadRow {
  using Table = class OverheadTable;

  StringId name = StringId::kEmpty;
  ThreadIndex thread = kNone;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t source_row = -1;
};

/// Time that CUPTI itself took, and what CUDA does once: buffer flushes, instrumentation, loading and compiling of
/// code.
class OverheadTable : public detail::Table<OverheadTable, OverheadRow> {
 public:
  TableColumn<&OverheadRow::name> name;
  TableColumn<&OverheadRow::thread> thread;
  TableColumn<&OverheadRow::begin_ns> begin_ns;
  TableColumn<&OverheadRow::end_ns> end_ns;
  OptionalTableColumn<&OverheadRow::source_row> source_row;

 private:
  friend detail::Table<OverheadTable, OverheadRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.name, self.thread, self.begin_ns, self.end_ns, self.source_row);
  }
};

}  // namespace rangefinder
