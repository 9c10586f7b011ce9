// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct MarkRow {
  using Table = class MarkTable;

  StringId name = StringId::kEmpty;
  StringId category = StringId::kEmpty;
  ThreadIndex thread{};
  std::int64_t time_ns = 0;
  std::int64_t source_row = -1;
};

/// Instants marked on host threads.
class MarkTable : public detail::Table<MarkTable, MarkRow> {
 public:
  TableColumn<&MarkRow::name> name;
  TableColumn<&MarkRow::category> category;
  TableColumn<&MarkRow::thread> thread;
  TableColumn<&MarkRow::time_ns> time_ns;
  OptionalTableColumn<&MarkRow::source_row> source_row;

 private:
  friend detail::Table<MarkTable, MarkRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.name, self.category, self.thread, self.time_ns, self.source_row);
  }
};

}  // namespace rangefinder
