// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct StepRow {
  using Table = class StepTable;

  std::int64_t number = 0;
  ThreadIndex thread{};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t items = 0;  ///< tokens, samples: what the program said that it did in the step; 0: nothing
};

/// Iterations: session.step(), Kineto's ProfilerStep#N.
class StepTable : public detail::Table<StepTable, StepRow> {
 public:
  TableColumn<&StepRow::number> number;
  TableColumn<&StepRow::thread> thread;
  TableColumn<&StepRow::begin_ns> begin_ns;
  TableColumn<&StepRow::end_ns> end_ns;
  TableColumn<&StepRow::items> items;

 private:
  friend detail::Table<StepTable, StepRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.number, self.thread, self.begin_ns, self.end_ns, self.items);
  }
};

}  // namespace rangefinder
