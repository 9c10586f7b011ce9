// SPDX-License-Identifier: MIT
#include "query/row_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace rangefinder::query {
namespace {

/// Different texts of a column, numbered as they come; 0 is NULL.
class Texts {
 public:
  std::uint32_t number_of(Cell cell) {
    if (cell.kind == Cell::Kind::kNull) return 0;
    const bool is_made = cell.kind == Cell::Kind::kMadeText;
    const auto known = numbers_.find(is_made ? cell.made : cell.text);
    if (known != numbers_.end()) return known->second;
    if (is_made) cell.text = made_.emplace_back(std::move(cell.made));
    texts_.push_back(cell.text);
    return numbers_[cell.text] = static_cast<std::uint32_t>(texts_.size());
  }

  /// The place of each number in the order of texts.
  std::vector<std::uint32_t> ranks() const {
    std::vector<std::uint32_t> sorted(texts_.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return texts_[a] < texts_[b]; });
    std::vector<std::uint32_t> ranks(texts_.size() + 1);
    for (std::uint32_t rank = 0; rank < sorted.size(); ++rank) ranks[sorted[rank] + 1] = rank + 1;
    return ranks;
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::vector<std::string_view> texts_;
  std::deque<std::string> made_;
};

/// Stable, as all here.
void sort_by_text(const Model& model, const Column& column, bool descending, std::vector<std::uint32_t>& order) {
  Texts texts;
  std::vector<std::uint32_t> keys(order.size());
  for (std::uint32_t row = 0; row < keys.size(); ++row) keys[row] = texts.number_of(column.get(model, row));
  const std::vector<std::uint32_t> ranks = texts.ranks();
  const auto last = static_cast<std::uint32_t>(ranks.size() - 1);
  for (std::uint32_t& key : keys) key = descending ? last - ranks[key] : ranks[key];
  std::vector<std::uint32_t> places(ranks.size() + 1);  // where the rows of a rank go
  for (const std::uint32_t key : keys) ++places[key + 1];
  std::partial_sum(places.begin(), places.end(), places.begin());
  std::vector<std::uint32_t> sorted(order.size());
  for (const std::uint32_t row : order) sorted[places[keys[row]]++] = row;
  order = std::move(sorted);
}

void sort_by_number(const Model& model, const Column& column, bool descending, std::vector<std::uint32_t>& order) {
  struct Numbered {
    std::int64_t value;
    std::uint32_t row;
    bool is_null;
  };
  std::vector<Numbered> entries;
  entries.reserve(order.size());
  for (const std::uint32_t row : order) {
    const Cell cell = column.get(model, row);
    entries.push_back({cell.integer, row, cell.kind == Cell::Kind::kNull});
  }
  const auto is_before = [](const Numbered& a, const Numbered& b) {
    return a.is_null != b.is_null ? a.is_null : !a.is_null && a.value < b.value;
  };
  std::stable_sort(entries.begin(), entries.end(), [&](const Numbered& a, const Numbered& b) {
    return descending ? is_before(b, a) : is_before(a, b);
  });
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = entries[i].row;
}

}  // namespace

std::vector<std::uint32_t> rows_by_values(const Model& model, const Table& table, std::span<const int> columns) {
  std::vector<std::uint32_t> order(table.rows(model));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = columns.size(); i-- > 0;) {
    const Column& column = table.columns[static_cast<std::size_t>(std::abs(columns[i])) - 1];
    (column.type == Type::kText ? sort_by_text : sort_by_number)(model, column, columns[i] < 0, order);
  }
  if (std::is_sorted(order.begin(), order.end())) order.clear();
  return order;
}

}  // namespace rangefinder::query
