// SPDX-License-Identifier: MIT
#include "query/tables.hpp"

#include <algorithm>

namespace rangefinder::query {

std::string_view sql_name(Type type) noexcept {
  switch (type) {
    case Type::kInteger:
      return "INTEGER";
    case Type::kReal:
      return "REAL";
    case Type::kText:
      return "TEXT";
  }
  return "TEXT";
}

std::size_t Table::column(std::string_view wanted) const noexcept {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == wanted; });
  return static_cast<std::size_t>(found - columns.begin());
}

bool Table::is_looked_up(std::string_view wanted) const noexcept {
  return std::any_of(lookups.begin(), lookups.end(), [&](const Lookup& lookup) {
    return lookup.key == wanted || (lookup.key.empty() && lookup.time == wanted);
  });
}

std::span<const Table* const> tables() {
  static const std::vector<const Table*> all = [] {
    std::vector<const Table*> list;
    for (const auto family : {range_tables(), device_tables(), host_tables(), place_tables(), collective_tables(),
                              memory_tables(), counter_tables(), recording_tables()})
      for (const Table& table : family) list.push_back(&table);
    return list;
  }();
  return all;
}

}  // namespace rangefinder::query
