// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"
#include "report/view.hpp"

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace rangefinder::report {

/// The rows that a limit leaves of a table that comes in pieces, by the filter and the order of the options. Memory: of
/// a few times as many rows as the limit.
class TopRows {
 public:
  explicit TopRows(const ViewOptions& options);

  /// The next rows of the table.
  Status add(Table piece);
  /// Once, behind the last piece, of which there was one: `arrange` makes of it what it makes of the whole table.
  Table take();
  std::uint64_t memory_bytes() const noexcept;

 private:
  void append(const Table& from);
  Paths::Node node_of(const Paths& paths, Paths::Node node);
  void drop_others();

  ViewOptions options_;  // without columns
  std::optional<Table> rows_;
  std::unordered_map<std::int64_t, Paths::Node> nodes_;  // of rows_, by id
  std::map<std::string, Paths::Node, std::less<>> words_;
  std::size_t all_rows_ = 0;  // so far
  std::size_t filtered_rows_ = 0;
};

}  // namespace rangefinder::report
