// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct AutogradNodeRow {
  using Table = class AutogradNodeTable;

  ThreadIndex thread{};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t sequence = -1;          ///< the node's number; -1: it has none, which is gradient accumulation
  ThreadIndex forward_thread = kNone;  ///< thread of the operator that made it; kNone: not in the data
  std::int64_t forward_ns = kNoTime;   ///< a time at which that operator ran; kNoTime with kNone
  StringId name = StringId::kEmpty;    ///< "AddmmBackward0"
  RangeIndex range = kNone;            ///< the operator that is the node, where operators are in the data
};

/// Executions of autograd nodes: where and when each ran, and where the operator ran that made it in the forward
/// pass. They nest; the innermost counts. In order of begin within a thread.
class AutogradNodeTable : public detail::Table<AutogradNodeTable, AutogradNodeRow> {
 public:
  TableColumn<&AutogradNodeRow::thread> thread;
  TableColumn<&AutogradNodeRow::begin_ns> begin_ns;
  TableColumn<&AutogradNodeRow::end_ns> end_ns;
  OptionalTableColumn<&AutogradNodeRow::sequence> sequence;
  TableColumn<&AutogradNodeRow::forward_thread> forward_thread;
  TableColumn<&AutogradNodeRow::forward_ns> forward_ns;
  OptionalTableColumn<&AutogradNodeRow::name> name;
  OptionalTableColumn<&AutogradNodeRow::range> range;

 private:
  friend detail::Table<AutogradNodeTable, AutogradNodeRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.thread, self.begin_ns, self.end_ns, self.sequence, self.forward_thread, self.forward_ns,
                    self.name, self.range);
  }
};

}  // namespace rangefinder
