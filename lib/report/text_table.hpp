// SPDX-License-Identifier: MIT
#pragma once

#include "report/sink.hpp"
#include "report/table.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace rangefinder::report {

/// How text looks; the caller knows the terminal, NO_COLOR and the locale.
struct TextOptions {
  bool utf8 = true;
  bool colour = false;
  /// Columns of the terminal: texts are shortened in their middle to fit, then columns left out and named below the
  /// table. 0: no limit.
  std::size_t width = 0;
};

/// Aligned columns under a header, for people: times in ns, us, ms or s, names made printable.
Status write_text(const Table& table, const TextOptions& options, const Sink& sink);
std::string to_text(const Table& table, const TextOptions& options);

/// A column's title as `write_text` shows it: units stand in the cells.
std::string heading(const Column& column);

/// A cell as `write_text` shows it, before it is shortened.
std::string readable_cell(const Table& table, std::size_t row, std::size_t column);

}  // namespace rangefinder::report
