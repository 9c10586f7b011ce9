// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::testing {

/// A column, to be compared with the values that it should have.
template <auto Member>
auto values_of(const TableColumn<Member>& column) {
  return std::vector(column.begin(), column.end());
}

/// The same for a column, or a vector, of indices: as plain numbers.
template <typename Indices>
std::vector<std::uint32_t> numbers_of(const Indices& indices) {
  return {indices.begin(), indices.end()};
}

/// Changes a row of a table by a function of it.
template <typename Table, typename Change>
void change_row(Table& table, std::size_t position, Change change) {
  typename Table::Row row = table.row(position);
  change(row);
  table.set(position, row);
}
template <typename Table, typename Change>
void change_last(Table& table, Change change) {
  change_row(table, table.size() - 1, change);
}

}  // namespace rangefinder::testing
