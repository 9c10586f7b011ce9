// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct CounterRow {
  using Table = class CounterTable;

  StringId name = StringId::kEmpty;
  ThreadIndex thread{};
  std::int64_t time_ns = 0;
  double number = 0;
  std::int64_t integer = 0;
  bool is_integer = false;
};

/// Samples of named series that the program wrote. `is_integer` tells which of the two values counts.
class CounterTable : public detail::Table<CounterTable, CounterRow> {
 public:
  TableColumn<&CounterRow::name> name;
  TableColumn<&CounterRow::thread> thread;
  TableColumn<&CounterRow::time_ns> time_ns;
  TableColumn<&CounterRow::number> number;
  TableColumn<&CounterRow::integer> integer;
  TableColumn<&CounterRow::is_integer> is_integer;

 private:
  friend detail::Table<CounterTable, CounterRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.name, self.thread, self.time_ns, self.number, self.integer, self.is_integer);
  }
};

}  // namespace rangefinder
