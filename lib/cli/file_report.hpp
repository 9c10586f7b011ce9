// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <vector>

namespace rangefinder::cli {

/// What `report` and `advise` have in common: files whose report goes to stdout.
struct FileReport {
  std::vector<std::string> inputs;
  ReportOptions report;
  bool csv = false;
  bool ascii = false;
  std::string kinds = "annotations";
  std::string peaks;
};

/// Adds FILE....
CLI::Option* add_files(CLI::App& verb, FileReport& arguments);
/// Adds --attribute, --ranges, --csv and --ascii.
void add_report_options(CLI::App& verb, FileReport& arguments);
/// Throws CLI::ValidationError where --json and --csv are both there.
void check_formats(const Common& common, const FileReport& arguments);

ReportFormat format_of(const Common& common, const FileReport& arguments) noexcept;
/// Reads the files and writes the report; an exit code.
int write_file_report(const Common& common, FileReport& arguments);

}  // namespace rangefinder::cli
