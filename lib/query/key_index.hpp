// SPDX-License-Identifier: MIT
#pragma once

#include "query/tables.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rangefinder::query {

/// The rows of a table by a whole number, and those of one number in order of a time.
///
/// Cost: built in O(n log n) and 24 bytes a row, 4 of which stay; none where the rows are in that order already. A
///       look-up is two binary searches.
class KeyIndex {
 public:
  KeyIndex(const Model& model, const Table& table, const Lookup& lookup);

  /// Positions; row() tells the row at one, and order() those of all.
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// Rows with that key whose time is not outside of [lower, upper]. Without a key column every row has the key 0.
  Span find(std::int64_t key, std::int64_t lower = std::numeric_limits<std::int64_t>::min(),
            std::int64_t upper = std::numeric_limits<std::int64_t>::max()) const;
  std::uint32_t row(std::size_t position) const noexcept {
    return order_.empty() ? static_cast<std::uint32_t>(position) : order_[position];
  }
  /// Rows by position; empty: the rows as they are.
  const std::vector<std::uint32_t>& order() const noexcept { return order_; }
  std::size_t size() const noexcept { return size_; }
  /// Different keys.
  std::size_t keys() const noexcept { return keys_; }

 private:
  std::int64_t key_at(std::size_t position) const;
  std::int64_t time_at(std::size_t position) const;

  const Model& model_;
  const Column* key_ = nullptr;
  const Column* time_ = nullptr;
  std::vector<std::uint32_t> order_;  // empty: the rows as they are
  std::size_t size_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace rangefinder::query
