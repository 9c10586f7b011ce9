// SPDX-License-Identifier: MIT
#pragma once

#include "query/cell.hpp"
#include "query/model.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

// Tables of a query. A table is described once, here: the description makes the virtual table, the reference page, the
// table `schema` and the completion of names.
//
//   constexpr Column kMarkColumns[] = {
//       {"name", kText, "", "what the program called it",
//        [](const Model& model, std::uint32_t row) { return text(model.timeline().text(...)); }},
//
// Every table begins with the column `id`, the position of the row counted from 1, which no list names.
namespace rangefinder::query {

enum class Type : std::uint8_t { kInteger, kReal, kText };

std::string_view sql_name(Type type) noexcept;

struct Column {
  std::string_view name;  ///< ends in its unit
  Type type;
  std::string_view unit;
  std::string_view description;
  Cell (*get)(const Model& model, std::uint32_t row);
};

/// Rows by a whole number, in order of a time. Both are names of columns.
struct Lookup {
  std::string_view key;   ///< empty: all rows
  std::string_view time;  ///< empty: no order
};

struct Table {
  std::string_view name;
  std::string_view description;
  std::span<const Column> columns;
  std::size_t (*rows)(const Model& model);
  std::span<const Lookup> lookups = {};

  /// Of `columns`; columns.size() where there is none of that name.
  std::size_t column(std::string_view wanted) const noexcept;
  bool is_looked_up(std::string_view wanted) const noexcept;
};

/// All of them, in the order of the reference.
std::span<const Table* const> tables();

// Each family is in a file of its own.
std::span<const Table> place_tables();
std::span<const Table> range_tables();
std::span<const Table> device_tables();
std::span<const Table> host_tables();
std::span<const Table> memory_tables();
std::span<const Table> counter_tables();
std::span<const Table> collective_tables();
std::span<const Table> recording_tables();

}  // namespace rangefinder::query
