// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"

#include <rangefinder/result.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace rangefinder::report {

/// The column that is meant: by its key (gpu_busy_ns), title (GPU busy), header (GPU busy (ns)), key without the unit
/// (gpu_busy), or by the beginning of one key alone. Case counts for nothing, nor do spaces and signs.
///
/// Errors: kInvalidArgument with the columns that may be meant, or, where there is none, with the nearest and all.
Result<std::size_t> find_column(const std::vector<Column>& columns, std::string_view wanted);

/// In the place of a list of columns: lists what there is instead of the rows.
inline constexpr std::string_view kColumnsHelp = "help";

/// Shows the columns of a list, "name,host_p95_ns", whatever text would leave out. Errors: as find_column.
Status choose_columns(Table& table, std::string_view list);

/// What there is to choose: a row for each column.
Table columns_of(const Table& table);

}  // namespace rangefinder::report
