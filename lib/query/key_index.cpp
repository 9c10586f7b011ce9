// SPDX-License-Identifier: MIT
#include "query/key_index.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::query {
namespace {

const Column* column_named(const Table& table, std::string_view name) noexcept {
  const std::size_t at = table.column(name);
  return name.empty() || at == table.columns.size() ? nullptr : &table.columns[at];
}

struct Entry {
  std::int64_t key;
  std::int64_t time;
  std::uint32_t row;

  friend bool operator<(const Entry& a, const Entry& b) noexcept {
    return std::tie(a.key, a.time, a.row) < std::tie(b.key, b.time, b.row);
  }
};

/// The least position in [begin, end) for which `is_behind` holds, which holds for all behind it.
template <typename IsBehind>
std::size_t first_behind(std::size_t begin, std::size_t end, const IsBehind& is_behind) {
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (is_behind(middle))
      end = middle;
    else
      begin = middle + 1;
  }
  return begin;
}

}  // namespace

KeyIndex::KeyIndex(const Model& model, const Table& table, const Lookup& lookup)
    : model_(model), key_(column_named(table, lookup.key)), time_(column_named(table, lookup.time)) {
  const auto rows = static_cast<std::uint32_t>(table.rows(model));
  std::vector<Entry> entries;
  entries.reserve(rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const Cell key = key_ != nullptr ? key_->get(model, row) : number(0);
    if (key.kind == Cell::Kind::kNull) continue;  // equal to nothing
    const Cell time = time_ != nullptr ? time_->get(model, row) : number(0);
    entries.push_back(
        {key.integer, time.kind == Cell::Kind::kNull ? std::numeric_limits<std::int64_t>::min() : time.integer, row});
  }
  size_ = entries.size();
  const bool sorted = std::is_sorted(entries.begin(), entries.end());
  if (!sorted) std::sort(entries.begin(), entries.end());
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (i == 0 || entries[i].key != entries[i - 1].key) ++keys_;
  if (sorted && size_ == rows) return;
  order_.reserve(size_);
  for (const Entry& entry : entries) order_.push_back(entry.row);
}

std::int64_t KeyIndex::key_at(std::size_t position) const {
  return key_ == nullptr ? 0 : key_->get(model_, row(position)).integer;
}

std::int64_t KeyIndex::time_at(std::size_t position) const {
  if (time_ == nullptr) return 0;
  const Cell time = time_->get(model_, row(position));
  return time.kind == Cell::Kind::kNull ? std::numeric_limits<std::int64_t>::min() : time.integer;
}

KeyIndex::Span KeyIndex::find(std::int64_t key, std::int64_t lower, std::int64_t upper) const {
  std::size_t begin = first_behind(0, size_, [&](std::size_t at) { return key_at(at) >= key; });
  std::size_t end = first_behind(begin, size_, [&](std::size_t at) { return key_at(at) > key; });
  if (time_ == nullptr) return {begin, end};
  begin = first_behind(begin, end, [&](std::size_t at) { return time_at(at) >= lower; });
  end = first_behind(begin, end, [&](std::size_t at) { return time_at(at) > upper; });
  return {begin, end};
}

}  // namespace rangefinder::query
