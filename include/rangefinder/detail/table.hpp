// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rangefinder::detail {

/// What the tables of a timeline have in common. `Derived` has a TableColumn for each member of `RowType`, and
/// `columns_of(self)`, a template for constant tables and others, to list them. Rows are written whole, so that all
/// columns have the same length.
template <typename Derived, typename RowType>
class Table {
 public:
  using Row = RowType;

  std::size_t size() const noexcept { return std::get<0>(columns()).size(); }
  bool empty() const noexcept { return size() == 0; }

  /// Returns the position of the new row.
  Index<Row> append(const Row& row) {
    const std::size_t at = size();
    const auto add = [&](auto&... column) { (column.append(row, at), ...); };
    all_or_nothing(at, add);
    return Index<Row>(at);
  }
  void set(std::size_t at, const Row& row) {
    std::apply([&](auto&... column) { (column.write(row, at), ...); }, columns());
  }
  Row row(std::size_t at) const noexcept {
    Row out;
    std::apply([&](const auto&... column) { (column.read(out, at), ...); }, columns());
    return out;
  }
  void reserve(std::size_t rows) {
    std::apply([&](auto&... column) { (column.reserve(rows), ...); }, columns());
  }
  /// Drops the rows from that one on; their memory stays, for those that come.
  void cut_to(std::size_t rows) noexcept {
    std::apply([&](auto&... column) { (column.cut_to(rows), ...); }, columns());
  }
  /// Memory of all rows, without what columns have in reserve.
  std::uint64_t memory_bytes() const noexcept {
    static_assert(sizeof(Derived) == listed_bytes<decltype(Derived::columns_of(std::declval<Derived&>()))>(),
                  "columns_of() lists every column");
    return std::apply([](const auto&... column) { return (column.memory_bytes() + ...); }, columns());
  }

 protected:
  void append_defaults(std::size_t rows) {
    all_or_nothing(size(), [&](auto&... column) { (column.grow_to(rows), ...); });
  }
  /// Row `i` becomes what row `order[i]` was.
  void reorder(const std::vector<std::uint32_t>& order) {
    std::apply([&](auto&... column) { (column.reorder(order), ...); }, columns());
  }

 private:
  template <typename Columns>
  static constexpr std::size_t listed_bytes() {
    return listed_bytes(static_cast<Columns*>(nullptr));
  }
  template <typename... Columns>
  static constexpr std::size_t listed_bytes(std::tuple<Columns...>*) {
    return (sizeof(std::remove_reference_t<Columns>) + ...);
  }

  /// Without memory for a whole row the table stays as it was.
  template <typename Add>
  void all_or_nothing(std::size_t before, Add add) {
    try {
      std::apply(add, columns());
    } catch (...) {
      std::apply([&](auto&... column) { (column.cut_to(before), ...); }, columns());
      throw;
    }
  }
  auto columns() noexcept { return Derived::columns_of(static_cast<Derived&>(*this)); }
  auto columns() const noexcept { return Derived::columns_of(static_cast<const Derived&>(*this)); }
};

}  // namespace rangefinder::detail
