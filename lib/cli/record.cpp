// SPDX-License-Identifier: MIT
#include "base/other_tools.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/recorded_program.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rangefinder::cli {
namespace {

namespace fs = std::filesystem;
using base::printable;
using base::with_thousands;

struct RecordArguments {
  std::string output;
  std::vector<std::string> config;
  std::vector<std::string> environment;
  double delay_s = 0;
  double duration_s = 0;
  std::uint32_t until_step = 0;
  std::string step_range;
  std::string ring;
  std::vector<std::string> domains;
  std::vector<std::string> words;  ///< the program's
};

/// Stands beside the library that this command uses, wherever that is installed.
Result<std::string> find_injection() {
  Dl_info library{};
  constexpr auto known = &inspect_capture;
  const bool found = ::dladdr(reinterpret_cast<const void*>(known), &library) != 0 && library.dli_fname != nullptr;
  std::error_code error;
  const fs::path folder = fs::canonical(found ? library.dli_fname : ".", error).parent_path();
  const fs::path path = folder / base::kInjectionFile;
  if (!fs::is_regular_file(path, error))
    return Error(ErrorCode::kNotFound, path.string() +
                                           ": not there; it belongs beside librangefinder.so, and is built "
                                           "where the headers of NVTX are found");
  return path.string();
}

/// Only one tool can listen.
Status no_other_tool() {
  const std::vector<base::OtherTool> others = base::other_tools();
  if (others.empty()) return {};
  return Error(ErrorCode::kBusy, "another tool is there, and one alone can listen: " + others.front().text() +
                                     "; run without it, or record with it");
}

Status set_output(const RecordArguments& arguments, ProgramToRecord& program) {
  const fs::path given =
      arguments.output.empty() ? fs::path(program.words.front()).filename().string() + "-%p.rfcap" : arguments.output;
  program.name = given.filename().string();
  if (program.name.empty() || program.name.find("%c") != std::string::npos)
    return Error(ErrorCode::kInvalidArgument,
                 given.string() + ": no file name, or one with %c, which is for schedules");
  std::error_code error;
  program.folder = fs::absolute(given, error).parent_path().string();  // the program may go elsewhere
  if (error || !fs::is_directory(program.folder, error))
    return Error(ErrorCode::kNotFound, program.folder + ": no such folder");
  return {};
}

std::string milliseconds(double seconds) { return fmt::format("{:.0f}ms", std::ceil(seconds * 1e3)); }

/// The bound of a flight recorder, as configuration: a number is seconds.
Result<std::string> ring_bound(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool is_number = text.find_first_not_of("0123456789.") == std::string::npos && *end == '\0';
  for (const std::string& bound :
       {"ring_time=" + (is_number ? milliseconds(seconds) : text), "ring_bytes=" + (is_number ? "" : text)}) {
    SessionOptions options;
    options.ring_bytes = 0;
    if (options.apply(bound).ok() && (options.ring_bytes != 0 || options.ring_time.count() != 0)) return bound;
  }
  return Error(ErrorCode::kInvalidArgument, "--ring " + printable(text) + ": a size (64MiB) or seconds are wanted");
}

/// What the options of this command say, as configuration.
Result<std::string> config_of_options(const RecordArguments& arguments) {
  std::string config;
  const auto add = [&](const std::string& words) { config += (config.empty() ? "" : ",") + words; };
  if (!arguments.ring.empty()) {
    const Result<std::string> bound = ring_bound(arguments.ring);
    if (!bound) return bound.error();
    add("mode=ring," + *bound);
  }
  if (arguments.delay_s > 0) add("delay=" + milliseconds(arguments.delay_s));
  if (arguments.duration_s > 0) add("duration=" + milliseconds(arguments.duration_s));
  if (arguments.until_step != 0) add("until_step=" + std::to_string(arguments.until_step));
  for (const std::string& words : arguments.config) add(words);
  SessionOptions options;
  if (Status status = options.apply(config); !status.ok()) return std::move(status).error();
  if (!options.output.empty()) return Error(ErrorCode::kInvalidArgument, "--config: the output is said by -o");
  return config;
}

Result<std::string> config_of(const RecordArguments& arguments) {
  Result<std::string> config = config_of_options(arguments);
  if (!config) return config;
  const char* const given = std::getenv("RANGEFINDER_CONFIG");
  std::string all = arguments.ring.empty() ? "" : "dump_signal=USR2,";
  if (given != nullptr && given[0] != '\0') all += std::string(given) + ",";
  all += *config;
  SessionOptions options;
  (void)options.apply(all);  // what the environment gets wrong is left out, as everywhere
  if (options.record_signal != 0 && (options.delay.count() != 0 || options.duration.count() != 0 || options.until_step))
    return Error(ErrorCode::kInvalidArgument, "--delay, --duration, --until-step: not together with record_signal");
  return all;
}

/// For RANGEFINDER_NVTX_DOMAINS.
Result<std::string> domains_of(const RecordArguments& arguments) {
  std::string list;
  for (const std::string& name : arguments.domains) {
    if (name.empty() || name == "-") return Error(ErrorCode::kInvalidArgument, "--domain: a name is missing");
    list += (list.empty() ? "" : ",") + name;
  }
  return list;
}

Result<ProgramToRecord> program_of(const RecordArguments& arguments) {
  ProgramToRecord program;
  program.words = arguments.words;
  if (Status status = no_other_tool(); !status.ok()) return std::move(status).error();
  const Result<std::string> injection = find_injection();
  if (!injection) return injection.error();
  if (Status status = set_output(arguments, program); !status.ok()) return std::move(status).error();
  const Result<std::string> config = config_of(arguments);
  if (!config) return config.error();
  const Result<std::string> domains = domains_of(arguments);
  if (!domains) return domains.error();
  program.environment = {{"NVTX_INJECTION64_PATH", *injection},
                         {"CUDA_INJECTION64_PATH", *injection},
                         {"RANGEFINDER_RECORD", base::with_doubled_percents(program.folder) + "/" + program.name},
                         {"RANGEFINDER_CONFIG", *config}};
  if (!domains->empty()) program.environment.emplace_back("RANGEFINDER_NVTX_DOMAINS", *domains);
  if (!arguments.step_range.empty()) program.environment.emplace_back("RANGEFINDER_STEP_RANGE", arguments.step_range);
  for (const std::string& entry : arguments.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Error(ErrorCode::kInvalidArgument, "--env " + entry + ": NAME=VALUE is wanted");
    program.environment.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return program;
}

std::string losses(const CaptureHealth& health) {
  std::string out;
  for (const CaptureHealth::Entry& entry : health.entries()) {
    if (entry.count != 0 && entry.severity == CaptureHealth::Severity::kLoss)
      out += (out.empty() ? "" : ", ") + with_thousands(entry.count) + " " + std::string(entry.text);
  }
  return out.empty() ? "nothing lost" : "lost: " + out;
}

std::string counted(std::size_t n, std::string_view one, std::string_view more) {
  return with_thousands(n) + " " + std::string(n == 1 ? one : more);
}

/// Of a capture that load_timeline has opened.
std::string device_work(const Timeline& timeline, const CaptureInfo& info) {
  std::string_view state = info.device_state;
  if (state == "full")
    return ", " + counted(timeline.launches.size(), "launch", "launches") + ", " +
           counted(timeline.activities.size(), "device activity", "device activities");
  if (state.starts_with("host_only: ")) state.remove_prefix(std::strlen("host_only: "));
  return "; no device activity: " + printable(state);
}

/// One line on what a capture holds, and how to look at it.
std::string described(const std::string& path) {
  const Result<Timeline> timeline = load_timeline(path);
  if (!timeline) return timeline.error().message();
  const Result<CaptureInfo> info = inspect_capture(path, false);
  if (!info) return info.error().message();
  return "recorded " + counted(timeline->ranges.size(), "range", "ranges") + device_work(*timeline, *info) + "; " +
         losses(timeline->health) + "; see: rangefinder report " + printable(path);
}

void tell(const std::vector<std::string>& captures) {
  if (captures.empty()) {
    complain("nothing recorded: no process of the program called NVTX, nor CUDA through its driver");
    return;
  }
  for (const std::string& path : captures) complain(described(path));
}

int run_record(const Common& common, const RecordArguments& arguments) {
  const Result<ProgramToRecord> program = program_of(arguments);
  if (!program) {
    complain("record: " + program.error().message());
    return kRecordFailed;
  }
  const Result<Recorded> recorded = run_program(*program);
  if (!recorded) {
    complain("record: " + recorded.error().message());
    return recorded.error().code() == ErrorCode::kNotFound ? 127 : 126;
  }
  if (!common.quiet) tell(recorded->captures);
  return end_as(recorded->wait_status);
}

}  // namespace

void add_record(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<RecordArguments>();
  CLI::App* verb = app.add_subcommand("record",
                                      "Run a program that was not built for it, and record its NVTX ranges and "
                                      "CUDA work: record [options] -- PROGRAM [ARGUMENTS]");
  verb->add_option("PROGRAM", arguments->words, "The program and its arguments, behind --")->required()->type_name("");
  verb->add_option(
          "-o,--output", arguments->output,
          "The capture (default PROGRAM-%p.rfcap); %p process id, %h host, %r rank. Further processes get their "
          "number before the ending")
      ->type_name("FILE");
  verb->add_option("--delay", arguments->delay_s, "Record nothing in the program's first SECONDS")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber.description(""));
  verb->add_option("--duration", arguments->duration_s, "Record SECONDS; the program runs on")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber.description(""));
  verb->add_option("--until-step", arguments->until_step,
                   "Record up to step N; see --step-range for programs that tell of no steps")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  verb->add_option("--step-range", arguments->step_range, "A step ends where this push/pop range of NVTX does")
      ->type_name("NAME");
  verb->add_option("--ring", arguments->ring,
                   "Flight recorder: keep the last SIZE (64MiB) or SECONDS (30), written at the end and by SIGUSR2")
      ->type_name("SIZE|SECONDS");
  verb->add_option("--domain", arguments->domains,
                   "Only these domains of NVTX, `default` for calls without one; -NAME leaves one out")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--config", arguments->config, "As RANGEFINDER_CONFIG: KEY=VALUE,...")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  verb->add_option("--env", arguments->environment, "Set a variable for the program")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  verb->add_flag("-q,--quiet", common.quiet, "Say nothing of what was recorded");
  verb->callback([&common, &result, arguments] { result = run_record(common, *arguments); });
}

}  // namespace rangefinder::cli
