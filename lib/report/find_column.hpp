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

}  // namespace rangefinder::report
