// SPDX-License-Identifier: MIT
#include "report/top_rows.hpp"

#include "report/table_order.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::report {

TopRows::TopRows(const ViewOptions& options) : options_(options) { options_.columns.clear(); }

Status TopRows::add(Table piece) {
  all_rows_ += piece.row_count();
  if (Status status = arrange(piece, options_); !status.ok()) return status;
  filtered_rows_ += piece.filtered_rows();
  if (!rows_) rows_.emplace(piece.columns());
  append(piece);
  constexpr std::size_t kSlack = 4096;
  if (rows_->row_count() <= 4 * options_.top + kSlack) return {};
  drop_others();
  return {};
}

void TopRows::append(const Table& from) {
  Table& to = *rows_;
  const std::vector<Column>& columns = to.columns();
  std::string buffer;
  for (std::size_t row = 0; row < from.row_count(); ++row) {
    to.add_row();
    for (std::size_t column = 0; column < columns.size(); ++column) {
      std::int64_t cell = from.number_at(row, column);
      if (cell != kNull && is_path(columns[column].type))
        cell = node_of(from.paths(), from.path_at(row, column));
      else if (cell != kNull && columns[column].type == ColumnType::kText)
        cell = to.cell_of(from.text_at(row, column, buffer));
      to.set(column, cell);
    }
  }
}

/// The same path among those of the rows.
Paths::Node TopRows::node_of(const Paths& paths, Paths::Node node) {
  std::vector<Paths::Node> inside;  // not there yet, innermost first
  Paths::Node around = Paths::kNothing;
  for (; node != Paths::kNothing; node = paths.around(node)) {
    if (paths.id(node) == 0) {
      const auto [found, added] = words_.try_emplace(std::string(paths.name(node)), Paths::kNothing);
      if (added) found->second = rows_->paths().add(Paths::kNothing, 0, paths.name(node));
      return found->second;
    }
    if (const auto found = nodes_.find(paths.id(node)); found != nodes_.end()) {
      around = found->second;
      break;
    }
    inside.push_back(node);
  }
  for (; !inside.empty(); inside.pop_back()) {
    const Paths::Node next = inside.back();
    around = rows_->paths().add(around, paths.id(next), paths.name(next));
    nodes_.emplace(paths.id(next), around);
  }
  return around;
}

void TopRows::drop_others() {
  Table before = std::move(*rows_);
  (void)arrange(before, options_);  // as it has arranged the pieces
  rows_.emplace(before.columns());
  nodes_.clear();
  words_.clear();
  append(before);
}

Table TopRows::take() {
  Table rows = std::move(*rows_);
  rows.set_left_out(all_rows_ - rows.row_count(), filtered_rows_);
  return rows;
}

std::uint64_t TopRows::memory_bytes() const noexcept {
  constexpr std::uint64_t kCellBytes = 8, kNodeBytes = 64;
  return rows_ ? rows_->row_count() * rows_->columns().size() * kCellBytes + rows_->paths().size() * kNodeBytes : 0;
}

}  // namespace rangefinder::report
