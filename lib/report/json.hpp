// SPDX-License-Identifier: MIT
#pragma once

#include "report/footer.hpp"
#include "report/sink.hpp"
#include "report/table.hpp"

#include <string>
#include <string_view>

namespace rangefinder::report {

/// Version of the JSON below; a member is added without a new one, changed or removed with.
inline constexpr int kJsonSchemaVersion = 2;

/// One object: `schema_version`, `view`, `columns` (key, name, unit, type), `rows` (an object each, by the columns'
/// keys), `hidden_rows` where a filter or limit left some out, and the footer's members. Integers are exact, decimals
/// as printed; texts are valid UTF-8 whatever the names were. `members`: further ones, as JSON, that come before the
/// columns.
///
/// Of a view with paths also `paths`: those that rows refer to and all around them (id, parent_id, name; null: nothing
/// is around). A path of more than 4,096 bytes is null in its row, and the ids lead to its names.
Status write_json(const Table& table, std::string_view view, const Footer& footer, const Sink& sink,
                  std::string_view members = {});
std::string to_json(const Table& table, std::string_view view, const Footer& footer);

}  // namespace rangefinder::report
