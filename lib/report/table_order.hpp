// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"
#include "report/view.hpp"

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::report {

/// The column that orders rows, and which way.
struct SortBy {
  std::size_t column;
  bool down;  ///< greatest first
};
/// What a user asked for: "duration", "+kernel", "-begin".
Result<SortBy> sort_by(const std::vector<Column>& columns, std::string_view by);
/// Of cells that are numbers; nothing is last, either way.
bool goes_before(const Column& column, bool down, std::int64_t a, std::int64_t b) noexcept;

/// Applies filter, sort and top of the options, in this order, to any table.
Status arrange(Table& table, const ViewOptions& options);

}  // namespace rangefinder::report
