// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"

#include <string>
#include <string_view>

// Pages of HTML that load nothing and run nothing. All texts may be hostile.
namespace rangefinder::bench {

/// A sentence; what stands between two backticks is code.
std::string html_sentence(std::string_view text);

/// The table with the cells that text and Markdown have. In a narrow window a row is a list of its cells.
std::string html_of(const report::Table& table);

/// A whole page around `body`, which is HTML.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace rangefinder::bench
