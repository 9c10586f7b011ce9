// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct OperatorRow {
  using Table = class OperatorTable;

  RangeIndex range{};
  std::int64_t sequence = -1;  ///< the number that the next node of autograd got; -1: it makes none
  /// Not 0: it is a node itself, `sequence` its own number, and this the framework's number of the thread that made it.
  std::uint64_t forward_thread_id = 0;
  // JSON, without white space between tokens, however the input is written.
  StringId shapes = StringId::kEmpty;  ///< a list for each input: [[4,288],[]]
  StringId types = StringId::kEmpty;   ///< ["float","Scalar"]
  StringId values = StringId::kEmpty;  ///< of inputs that are no tensors: ["","[1, 1]"]
};

/// What operators were given: one row per operator that says anything, in order of range. LoadOptions::operator_inputs
/// asks for the texts.
class OperatorTable : public detail::Table<OperatorTable, OperatorRow> {
 public:
  TableColumn<&OperatorRow::range> range;
  OptionalTableColumn<&OperatorRow::sequence> sequence;
  OptionalTableColumn<&OperatorRow::forward_thread_id> forward_thread_id;
  OptionalTableColumn<&OperatorRow::shapes> shapes;
  OptionalTableColumn<&OperatorRow::types> types;
  OptionalTableColumn<&OperatorRow::values> values;

 private:
  friend detail::Table<OperatorTable, OperatorRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.range, self.sequence, self.forward_thread_id, self.shapes, self.types, self.values);
  }
};

}  // namespace rangefinder
