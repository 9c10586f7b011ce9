// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/bench/harness.hpp>
#include <rangefinder/bench/measure_peaks.hpp>

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace rangefinder::cli {

void add_output(CLI::App& verb, Common& common) {
  verb.add_flag("--json", common.json, "Print JSON with a schema_version")->group("Output");
  verb.add_flag("-q,--quiet", common.quiet, "Print only the result")->group("Output");
  verb.add_flag("--no-progress", common.no_progress, "Do not show progress")->group("Output");
  add_choice<When>(verb, "--color", common.colour,
                   {{"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}},
                   "auto, always or never (default auto; NO_COLOR turns auto off)")
      ->type_name("WHEN")
      ->group("Output");
}

void add_common(CLI::App& verb, Common& common) {
  add_output(verb, common);
  verb.add_flag("--strict", common.strict, "Treat damaged or incomplete input as an error (exit code 3)");
  verb.add_option("--max-memory", common.max_memory,
                  "Reject input that needs more memory than SIZE, such as 512MiB (default: half of the memory)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE");
}

namespace {

std::uint64_t bound_of(const Common& common) noexcept {
  return common.max_memory != 0 ? common.max_memory : default_max_memory();
}

}  // namespace

LoadOptions load_options(const Common& common, Progress& progress) {
  LoadOptions options;
  options.strict = common.strict;
  options.max_memory_bytes = common.max_memory;
  progress.watch(options);
  return options;
}

void bound_memory(const Common& common) noexcept {
#if defined(RANGEFINDER_ADDRESS_SANITIZER) || defined(RANGEFINDER_THREAD_SANITIZER)
  (void)common;  // their shadow memory counts
#else
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>({limit.rlim_cur, limit.rlim_max, bound_of(common)});
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
}

Error out_of_memory(const Common& common) {
  return Error(
      ErrorCode::kTooLarge,
      fmt::format("needs more memory than the limit of {} MiB; allow more with --max-memory, read one capture "
                  "of a folder at a time, or record less (rangefinder record --duration, --until-step); export "
                  "and the views ranges, tree, kernels and memcpy of a long capture need little memory",
                  bound_of(common) >> 20));
}

void add_attribution(CLI::App& verb, Attribution& variable, const std::string& description) {
  add_choice<Attribution>(verb, "--attribute", variable,
                          {{"auto", Attribution::kAuto},
                           {"launch", Attribution::kLaunch},
                           {"forward", Attribution::kForward},
                           {"capture", Attribution::kCapture}},
                          description)
      ->type_name("HOW");
}

Result<std::optional<MachinePeaks>> peaks_of(const std::string& path) {
  if (path.empty()) return std::optional<MachinePeaks>();
  Result<MachinePeaks> peaks = bench::read_peaks(path);
  if (!peaks) return std::move(peaks).error();
  return std::optional<MachinePeaks>(std::move(*peaks));
}

namespace {

/// Options of the library are options of the command under other names.
std::string in_words_of_the_command(std::string message) {
  if (const std::size_t at = message.find(base::kOrReplace); at != std::string::npos)
    message.replace(at, base::kOrReplace.size(), ", or --force to replace it");
  return message;
}

}  // namespace

int fail(const Error& error) {
  complain(in_words_of_the_command(error.message()));
  switch (error.code()) {
    case ErrorCode::kIncomplete:
      return kIncomplete;
    case ErrorCode::kInternal:
      return kInternal;
    default:
      return kUsage;
  }
}

int usage_code(int argc, const char* const* argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  const std::string_view nested = argc > 2 ? argv[2] : "";
  if (verb == "record") return kRecordFailed;
  if (verb != "bench") return kUsage;
  return nested == "compare-perf" ? bench::kFailure : bench::kWrongUse;
}

bool write_stdout(std::string_view text) { return std::fwrite(text.data(), 1, text.size(), stdout) == text.size(); }

std::string json_string(std::string_view text) {
  std::string out;
  base::append_json_string(out, text);
  return out;
}

}  // namespace rangefinder::cli
