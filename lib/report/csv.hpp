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
};

/// RFC 4180 with bare line feeds, as Nsight writes it: units in the header, numbers exact, nothing for no value.
Status write_csv(const Table& table, const CsvOptions& options, const Sink& sink);
std::string to_csv(const Table& table, const CsvOptions& options = {});

}  // namespace rangefinder::report
