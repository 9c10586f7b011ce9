// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"

#include <string>
#include <string_view>

namespace rangefinder::report {

/// A printable text, so that nothing in it is markup or HTML.
std::string markdown_text(std::string_view printable_text);

/// The table in GitHub-flavoured Markdown, with a heading row; cells as text for people has them, numbers to the right.
/// Names do no harm: what could be markup or HTML is escaped.
std::string markdown_of(const Table& table);

}  // namespace rangefinder::report
