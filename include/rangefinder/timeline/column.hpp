// SPDX-License-Identifier: MIT
#pragma once

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
std::uint64_t bytes_of(const std::vector<T>& values) noexcept {
  return std::is_same_v<T, bool> ? values.size() / 8 : values.size() * sizeof(T);
}

template <typename T>
void reorder(std::vector<T>& values, const std::vector<std::uint32_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (const std::uint32_t row : order) sorted.push_back(values[row]);
  values = std::move(sorted);
}

}  // namespace detail

/// One member of all rows of a table, contiguous in memory. Only the table changes it.
template <auto Member>
class TableColumn {
  using Row = typename detail::MemberOf<decltype(Member)>::Row;

 public:
  using value_type = typename detail::MemberOf<decltype(Member)>::Value;
  using const_reference = typename std::vector<value_type>::const_reference;
  using const_iterator = typename std::vector<value_type>::const_iterator;

  TableColumn() = default;
  TableColumn(const TableColumn&) = default;
  ~TableColumn() = default;

  template <typename Position, typename = detail::EnablePosition<Position, Row>>
  const_reference operator[](Position row) const noexcept {
    return values_[static_cast<std::size_t>(row)];
  }
  const_reference front() const noexcept { return values_.front(); }
  const_reference back() const noexcept { return values_.back(); }
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
  void cut_to(std::size_t rows) noexcept {
    if (values_.size() > rows) values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(rows), values_.end());
  }
  void reserve(std::size_t rows) { values_.reserve(rows); }
  void reorder(const std::vector<std::uint32_t>& order) { detail::reorder(values_, order); }
  void read(Row& row, std::size_t at) const noexcept { row.*Member = values_[at]; }
  void write(const Row& row, std::size_t at) { set(at, row.*Member); }
  std::uint64_t memory_bytes() const noexcept { return detail::bytes_of(values_); }

  std::vector<value_type> values_;
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
/// member.
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
    return static_cast<std::size_t>(row) < values_.size() ? value_type(values_[row]) : kDefault;
  }
  /// True while every row has the default.
  bool empty() const noexcept { return values_.empty(); }

 private:
  template <typename Derived, typename RowType>
  friend class detail::Table;
  friend typename Row::Table;
  static constexpr value_type kDefault = Row{}.*Member;

  OptionalTableColumn(OptionalTableColumn&&) noexcept = default;
  OptionalTableColumn& operator=(const OptionalTableColumn&) = default;
  OptionalTableColumn& operator=(OptionalTableColumn&&) noexcept = default;

  void append(const Row& row, std::size_t at) {
    if (row.*Member != kDefault) set(at, row.*Member);
  }
  void set(std::size_t at, value_type value) {
    if (at >= values_.size()) {
      if (value == kDefault) return;
      values_.resize(at + 1, kDefault);
    }
    values_[at] = value;
  }
  void grow_to(std::size_t) noexcept {}
  void cut_to(std::size_t rows) noexcept {
    if (values_.size() > rows) values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(rows), values_.end());
  }
  void reserve(std::size_t) noexcept {}
  void reorder(const std::vector<std::uint32_t>& order) {
    if (values_.empty()) return;
    values_.resize(order.size(), kDefault);
    detail::reorder(values_, order);
  }
  void read(Row& row, std::size_t at) const noexcept { row.*Member = (*this)[at]; }
  void write(const Row& row, std::size_t at) { set(at, row.*Member); }
  std::uint64_t memory_bytes() const noexcept { return detail::bytes_of(values_); }

  std::vector<value_type> values_;  // may be shorter than the table: the rows behind it have the default
};

}  // namespace rangefinder
