// SPDX-License-Identifier: MIT
#pragma once

#include "report/sink.hpp"
#include "report/table.hpp"

#include <string>

namespace rangefinder::report {

struct CsvOptions {
  /// Texts that a spreadsheet would run as a formula get a leading apostrophe. Off where a tool compares names.
  bool defuse_formulas = true;
  bool header = true;
  /// It goes to a terminal: texts are shown as text shows them (base::printable), and every row is one line.
  bool terminal = false;
};

/// RFC 4180 with bare line feeds, as Nsight writes it: units in the header, numbers exact, nothing for no value. Valid
/// UTF-8 whatever the names were; else texts are as they are, control characters included, unless it is for a terminal.
Status write_csv(const Table& table, const CsvOptions& options, const Sink& sink);
std::string to_csv(const Table& table, const CsvOptions& options = {});

}  // namespace rangefinder::report
