// SPDX-License-Identifier: MIT
#pragma once

#include "query/key_index.hpp"
#include "query/tables.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace rangefinder::query {

/// A table as SQLite sees it, with the indexes and orders that queries have needed so far.
class TableSource {
 public:
  TableSource(const Model& of, const Table& served) : model(of), table(served), indexes_(served.lookups.size()) {}

  std::size_t rows() const { return table.rows(model); }
  /// Built on first use.
  const KeyIndex& index(std::size_t lookup);
  /// The index if it has been built; else null.
  const KeyIndex* built(std::size_t lookup) const noexcept { return indexes_[lookup].get(); }
  using Order = std::shared_ptr<const std::vector<std::uint32_t>>;
  /// A number for rows_by_values of these columns.
  int number_of_order(const std::vector<int>& columns);
  /// The order of that number; made on first use. The last ones are kept.
  Order order(int number);

  const Model& model;
  const Table& table;

 private:
  std::vector<std::unique_ptr<KeyIndex>> indexes_;
  struct WantedOrder {
    std::vector<int> columns;
    Order order;
  };
  std::vector<WantedOrder> orders_;
};

/// Serves the table under its name. `source` outlives the connection.
int register_table(sqlite3* connection, TableSource& source);

}  // namespace rangefinder::query
