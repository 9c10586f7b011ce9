// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/parquet.hpp>

#include <string>

namespace rangefinder::cli {

struct ParquetArguments {
  ParquetExportOptions options;
  bool no_detail = false;
};

/// `--job`, `--run` and `--no-detail`, which no other format takes.
void add_parquet_options(CLI::App& verb, ParquetArguments& arguments);
/// `chrome` has what the formats share. The code that the command ends with.
int run_parquet(const Common& common, const std::string& input, const std::string& output,
                const ParquetArguments& arguments, const ChromeExportOptions& chrome);

}  // namespace rangefinder::cli
