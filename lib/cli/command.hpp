// SPDX-License-Identifier: MIT
#pragma once

#include "cli/terminal.hpp"

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rangefinder::cli {

/// Options that every verb has.
struct Common {
  Terminal terminal;
  When colour = When::kAuto;
  bool json = false;
  bool quiet = false;
  bool no_progress = false;
  bool strict = false;
  std::uint64_t max_memory = 0;  ///< bytes; 0: default_max_memory()

  bool shows_progress() const noexcept { return !quiet && !no_progress; }
};

/// Adds --json, -q, --color and --no-progress.
void add_output(CLI::App& verb, Common& common);
/// The same, --strict and --max-memory.
void add_common(CLI::App& verb, Common& common);

/// Adds --attribute.
void add_attribution(CLI::App& verb, Attribution& variable, const std::string& description);

/// Each adds its verb; `result` gets the exit code when the verb is the one that ran.
/// `program`: its words, once the command line has been read.
void add_record(CLI::App& app, Common& common, int& result, const std::vector<std::string>& program);
void add_report(CLI::App& app, Common& common, int& result);
void add_advise(CLI::App& app, Common& common, int& result);
void add_export(CLI::App& app, Common& common, int& result);
void add_view(CLI::App& app, Common& common, int& result);
void add_info(CLI::App& app, Common& common, int& result);
void add_query(CLI::App& app, Common& common, int& result);
void add_mcp(CLI::App& app, Common& common, int& result);
void add_fleet(CLI::App& app, Common& common, int& result);
void add_diff(CLI::App& app, Common& common, int& result);
void add_gate(CLI::App& app, Common& common, int& result);
void add_check(CLI::App& app, Common& common, int& result);
void add_doctor(CLI::App& app, Common& common, int& result);
void add_bench(CLI::App& app, Common& common, int& result);
void add_measure_peaks(CLI::App& app, Common& common, int& result);
void add_completion(CLI::App& app, Common& common, int& result);

/// Of `record`, what stands behind its options is another program's, and no word of it is looked at: it goes to
/// `program`. How many words are left for the parser.
int cut_program(const CLI::App& app, int argc, const char* const* argv, std::vector<std::string>& program);

/// `record` could not run the program; its exit codes are else the program's.
inline constexpr int kRecordFailed = 125;

/// What wrong use of these words ends with: bench and record have exit codes of their own.
int usage_code(int argc, const char* const* argv);

/// How a verb reads its input: as --strict and --max-memory say, and shown by `progress`, which must outlive the
/// reading.
LoadOptions load_options(const Common& common, Progress& progress);

/// From here on the program gets no more memory than --max-memory allows: `new` throws std::bad_alloc, of which main
/// makes out_of_memory(). The readers refuse most input that needs more before that.
void bound_memory(const Common& common) noexcept;
Error out_of_memory(const Common& common);

/// With --strict: kIncomplete, before anything is written, when a recording lost something or is damaged.
Status check_complete(const Common& common, const std::string& path);

/// The file that --peaks names; no peaks where `path` is empty.
Result<std::optional<MachinePeaks>> peaks_of(const std::string& path);

/// Prints the error and gives the exit code that goes with it.
int fail(const Error& error);

/// Writes to stdout; false if the reader has closed it.
bool write_stdout(std::string_view text);

/// With its quotes.
std::string json_string(std::string_view text);

}  // namespace rangefinder::cli
