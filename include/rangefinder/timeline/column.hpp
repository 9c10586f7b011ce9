// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/cells.hpp>
#include <rangefinder/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace rangefinder {
namespace detail {

template <typename Derived, typename RowType>
class Table;

template <typename Member>
struct MemberOf;
template <typename RowType, typename T>
struct MemberOf<T RowType::*> {
  using Row = RowType;
  using Value = T;
};

/// What may index the rows of a table: its own index and plain numbers, not the index of another table.
template <typename Position, typename Row>
using EnablePosition = std::enable_if_t<std::is_integral_v<Position> || std::is_same_v<Position, Index<Row>>>;

template <typename T>
std::uint64_t bytes_of(const Cells<T>& cells) noexcept {
  return cells.size() * sizeof(T);
}

template <typename T>
void reorder(Cells<T>& cells, const std::vector<std::uint32_t>& order) {
  Cells<T> sorted;
  sorted.reserve(cells.size());
  for (const std::uint32_t row : order) sorted.push_back(cells[row]);
  cells = std::move(sorted);
}

template <typename T>
void cut_to(Cells<T>& cells, std::size_t rows) noexcept {
  if (cells.size() > rows) cells.resize(rows, cells[0]);
}

}  // namespace detail

/// One member of all rows of a table, contiguous in memory. Only the table changes it.
template <auto Member>
class TableColumn {
  using Row = typename detail::MemberOf<decltype(Member)>::Row;

 public:
  using value_type = typename detail::MemberOf<decltype(Member)>::Value;
  using const_reference = const value_type&;
  using const_iterator = const value_type*;

  TableColumn() = default;
  TableColumn(const TableColumn&) = default;
  ~TableColumn() = default;

  template <typename Position, typename = detail::EnablePosition<Position, Row>>
  const_reference operator[](Position row) const noexcept {
    return values_[static_cast<std::size_t>(row)];
  }
  const_reference front() const noexcept { return values_[0]; }
  const_reference back() const noexcept { return values_[values_.size() - 1]; }
  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  const_iterator begin() const noexcept { return values_.begin(); }
  const_iterator end() const noexcept { return values_.end(); }

 private:
  template <typename Derived, typename RowType>
  friend class detail::Table;
  friend typename Row::Table;

  TableColumn(TableColumn&&) noexcept = default;
  TableColumn& operator=(const TableColumn&) = default;
  TableColumn& operator=(TableColumn&&) noexcept = default;

  void append(const Row& row, std::size_t) { values_.push_back(row.*Member); }
  void set(std::size_t at, const value_type& value) noexcept { values_[at] = value; }
  void grow_to(std::size_t rows) { values_.resize(rows, Row{}.*Member); }
  void cut_to(std::size_t rows) noexcept { detail::cut_to(values_, rows); }
  void reserve(std::size_t rows) { values_.reserve(rows); }
  void reorder(const std::vector<std::uint32_t>& order) { detail::reorder(values_, order); }
  void read(Row& row, std::size_t at) const noexcept { row.*Member = values_[at]; }
  void write(const Row& row, std::size_t at) { set(at, row.*Member); }
  std::uint64_t memory_bytes() const noexcept { return detail::bytes_of(values_); }

  detail::Cells<value_type> values_;
};

template <auto A, auto B>
bool operator==(const TableColumn<A>& a, const TableColumn<B>& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
template <auto A>
bool operator==(const TableColumn<A>& a, const std::vector<typename TableColumn<A>::value_type>& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// A column that many inputs lack: it takes no memory while every row has the default, which is that of the row's
/// member. Numbers of 64 bits take 4 bytes a row while all of them are less than 2^32 above the default.
template <auto Member>
class OptionalTableColumn {
  using Row = typename detail::MemberOf<decltype(Member)>::Row;

 public:
  using value_type = typename detail::MemberOf<decltype(Member)>::Value;

  OptionalTableColumn() = default;
  OptionalTableColumn(const OptionalTableColumn&) = default;
  ~OptionalTableColumn() = default;

  template <typename Position, typename = detail::EnablePosition<Position, Row>>
  value_type operator[](Position row) const noexcept {
    const auto at = static_cast<std::size_t>(row);
    if constexpr (kNarrows) {
      if (at < narrow_.size()) return from_narrow(narrow_[at]);
    }
    return at < values_.size() ? values_[at] : kDefault;
  }
  /// Whether the rows are those of `rows`, and all behind them have the default.
  friend bool operator==(const OptionalTableColumn& column, const std::vector<value_type>& rows) noexcept {
    if (std::max(column.values_.size(), column.narrow_.size()) > rows.size()) return false;
    for (std::size_t at = 0; at < rows.size(); ++at)
      if (column[at] != rows[at]) return false;
    return true;
  }
  /// True while every row has the default.
  bool empty() const noexcept { return values_.empty() && narrow_.empty(); }
  /// Where the values of that many rows, all of the table's, stand one after the other; null where they do not.
  const value_type* contiguous(std::size_t rows) const noexcept {
    return values_.size() == rows && rows != 0 ? values_.begin() : nullptr;
  }

 private:
  template <typename Derived, typename RowType>
  friend class detail::Table;
  friend typename Row::Table;
  static constexpr value_type kDefault = Row{}.*Member;
  static constexpr bool kNarrows = std::is_integral_v<value_type> && sizeof(value_type) == 8;

  OptionalTableColumn(OptionalTableColumn&&) noexcept = default;
  OptionalTableColumn& operator=(const OptionalTableColumn&) = default;
  OptionalTableColumn& operator=(OptionalTableColumn&&) noexcept = default;

  void append(const Row& row, std::size_t at) {
    if (row.*Member != kDefault) set(at, row.*Member);
  }
  void set(std::size_t at, value_type value) {
    if constexpr (kNarrows) {
      if (values_.empty()) {
        const std::uint64_t above = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(kDefault);
        if (above <= 0xFFFFFFFFu) return put(narrow_, at, static_cast<std::uint32_t>(above), std::uint32_t{0});
        widen();
      }
    }
    put(values_, at, value, kDefault);
  }
  void grow_to(std::size_t) noexcept {}
  void cut_to(std::size_t rows) noexcept {
    detail::cut_to(values_, rows);
    detail::cut_to(narrow_, rows);
  }
  void reserve(std::size_t) noexcept {}
  void reorder(const std::vector<std::uint32_t>& order) {
    reorder(values_, order, kDefault);
    reorder(narrow_, order, std::uint32_t{0});
  }
  void read(Row& row, std::size_t at) const noexcept { row.*Member = (*this)[at]; }
  void write(const Row& row, std::size_t at) { set(at, row.*Member); }
  std::uint64_t memory_bytes() const noexcept { return detail::bytes_of(values_) + detail::bytes_of(narrow_); }

  template <typename T>
  static void put(detail::Cells<T>& cells, std::size_t at, T value, T standard) {
    if (at >= cells.size()) {
      if (value == standard) return;
      cells.resize(at + 1, standard);
    }
    cells[at] = value;
  }
  template <typename T>
  static void reorder(detail::Cells<T>& cells, const std::vector<std::uint32_t>& order, T standard) {
    if (cells.empty()) return;
    cells.resize(order.size(), standard);
    detail::reorder(cells, order);
  }
  static value_type from_narrow(std::uint32_t above) noexcept {
    return static_cast<value_type>(static_cast<std::uint64_t>(kDefault) + above);
  }
  void widen() {
    detail::Cells<value_type> wide;
    wide.reserve(narrow_.size());
    for (const std::uint32_t above : narrow_) wide.push_back(from_narrow(above));
    values_.swap(wide);
    narrow_.clear();
  }

  // May be shorter than the table: the rows behind it have the default. One of them is empty.
  detail::Cells<value_type> values_;
  detail::Cells<std::uint32_t> narrow_;  // how far above the default; only of numbers of 64 bits
};

}  // namespace rangefinder
