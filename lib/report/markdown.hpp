// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"

#include <string>

namespace rangefinder::report {

/// The table in GitHub-flavoured Markdown, with a heading row; cells as text for people has them, numbers to the right.
/// Names do no harm: what could be markup or HTML is escaped.
std::string markdown_of(const Table& table);

}  // namespace rangefinder::report
