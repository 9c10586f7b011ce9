// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"

#include <rangefinder/exporters.hpp>

#include <string>

namespace rangefinder::cli {

/// `--gpu`, which no other format takes.
void add_perfetto_options(CLI::App& verb, PerfettoExportOptions& options);
/// `chrome` has what the formats share. The code that the command ends with.
int run_perfetto(const Common& common, const std::string& input, const std::string& output,
                 PerfettoExportOptions options, const ChromeExportOptions& chrome);

}  // namespace rangefinder::cli
