// SPDX-License-Identifier: MIT
// `fleet` runs the SQL of the Python package on DuckDB, which comes from PyPI: there is one copy of each view, which
// Python, this command and Spark run.
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/result.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace rangefinder::cli {
namespace {

struct FleetArguments {
  std::string folder;
  std::string view;
  std::string job;
  std::string run;
  std::uint64_t top = 0;
  bool csv = false;
  bool sql = false;
};

/// That of RANGEFINDER_PYTHON; that beside this command, in an environment of Python; else the one in PATH.
std::string python_interpreter() {
  if (const char* const named = std::getenv("RANGEFINDER_PYTHON"); named != nullptr && *named != '\0') return named;
  std::error_code error;
  const std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::filesystem::path beside = command.parent_path() / "python3";
    if (::access(beside.c_str(), X_OK) == 0) return beside;
  }
  return "python3";
}

std::vector<std::string> words_for_python(const Common& common, const FleetArguments& arguments) {
  std::vector<std::string> words = {python_interpreter(), "-m", "rangefinder.fleet", "--view", arguments.view};
  if (arguments.top != 0) words.insert(words.end(), {"--top", std::to_string(arguments.top)});
  if (!arguments.job.empty()) words.insert(words.end(), {"--job", arguments.job});
  if (!arguments.run.empty()) words.insert(words.end(), {"--run", arguments.run});
  if (arguments.csv) words.emplace_back("--csv");
  if (arguments.sql) words.emplace_back("--sql");
  if (common.json) words.emplace_back("--json");
  words.insert(words.end(), {"--", arguments.folder});
  return words;
}

/// Becomes Python; comes back only where that is not possible.
int run_fleet(const Common& common, const FleetArguments& arguments) {
  std::vector<std::string> words = words_for_python(common, arguments);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  return fail(
      Error(ErrorCode::kUnsupported,
            fmt::format("fleet: cannot run {}: {}; it needs Python with the packages rangefinder and duckdb, and "
                        "RANGEFINDER_PYTHON may name its interpreter",
                        words.front(), std::strerror(errno))));
}

}  // namespace

void add_fleet(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<FleetArguments>();
  CLI::App* verb = app.add_subcommand("fleet", "Compare the recordings of many jobs, exported as Parquet");
  verb->add_option("DIR", arguments->folder, "What `export --format parquet` wrote")->required()->type_name("");
  takes_one_of(verb->add_option("--view", arguments->view,
                                "stragglers: ranks whose own work takes longer; steps: times of steps; ranges: time by "
                                "range; kernels: time by kernel; loss: what recordings lost"),
               {"stragglers", "steps", "ranges", "kernels", "loss"})
      ->required()
      ->type_name("VIEW");
  verb->add_option("--job", arguments->job, "Only this job")->type_name("NAME");
  verb->add_option("--run", arguments->run, "Only this run")->type_name("NAME");
  takes_whole_number<std::uint64_t>(verb->add_option("--top", arguments->top, "Show at most N rows"), 1)
      ->type_name("N");
  verb->add_flag("--csv", arguments->csv, "Print CSV");
  verb->add_flag("--sql", arguments->sql, "Print the SQL of the view and do not run it");
  add_output(*verb, common);
  verb->callback([&common, &result, arguments] { result = run_fleet(common, *arguments); });
}

}  // namespace rangefinder::cli
