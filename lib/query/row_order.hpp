// SPDX-License-Identifier: MIT
#pragma once

#include "query/tables.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::query {

/// The rows of a table by the values of columns, as SQLite orders them: first NULL, then whole numbers, or texts by
/// their bytes. Groups of equal values are neighbours then, and SQLite has nothing to sort: GROUP BY name of three
/// million activities takes a tenth of the time. Empty where the rows are in that order already.
///
/// `columns`: numbers counted from 1, of whole numbers or texts; negative: descending.
/// Cost: a pass for each column, and sorting its different texts, or its numbers; 24 bytes a row while it works.
std::vector<std::uint32_t> rows_by_values(const Model& model, const Table& table, std::span<const int> columns);

}  // namespace rangefinder::query
