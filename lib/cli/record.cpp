// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/file_mark.hpp"
#include "base/left_out_domains.hpp"
#include "base/other_tools.hpp"
#include "base/record_id.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/recorded_program.hpp"
#include "cli/session_keys.hpp"
#include "cli/values.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/session.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
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
                                           ": not found; it belongs beside librangefinder.so, and is built "
                                           "if the NVTX headers are found");
  return path.string();
}

/// The plugin that NCCL will load in the program; empty: none was chosen.
std::string nccl_plugin_of(const ProgramToRecord& program) {
  const char* const given = std::getenv(base::kNcclVariable);
  std::string value = given != nullptr ? given : "";
  for (const auto& [name, text] : program.environment) {
    if (name == base::kNcclVariable) value = text;
  }
  return value;
}

/// NCCL has room for one, and the user may have chosen it.
void choose_nccl_plugin(const fs::path& folder, ProgramToRecord& program) {
  constexpr std::size_t kMostThatNcclReads = 255;
  const std::string path = (folder / base::kNcclPluginFile).string();
  std::error_code error;
  if (!nccl_plugin_of(program).empty() || path.size() > kMostThatNcclReads || !fs::is_regular_file(path, error)) return;
  program.environment.emplace_back(base::kNcclVariable, path);
}

/// Only one tool can listen.
Status no_other_tool() {
  const std::vector<base::OtherTool> others = base::other_tools();
  if (others.empty()) return {};
  return Error(ErrorCode::kBusy, "another tool receives NVTX, and only one can: " + others.front().text() +
                                     "; run without it, or record with it");
}

/// What its processes are to do is said by variables, which --env may have the last word on.
Status not_switched_off(const ProgramToRecord& program) {
  const char* const given = std::getenv("RANGEFINDER_DISABLE");
  std::string value = given != nullptr ? given : "";
  for (const auto& [name, text] : program.environment) {
    if (name == "RANGEFINDER_DISABLE") value = text;
  }
  if (value.empty() || value == "0") return {};
  return Error(ErrorCode::kInvalidArgument, "RANGEFINDER_DISABLE=" + printable(value) + " switches recording off");
}

/// The program would run unrecorded: nothing but a capture is replaced.
Status no_foreign_file(const ProgramToRecord& program) {
  const std::optional<std::string> file = file_of(program);
  if (!file) return {};
  for (const auto& [path, kind, what] :
       {std::tuple{*file, base::FileKind::kCapture, "capture"},
        std::tuple{*file + ".live", base::FileKind::kLive, "live file of a capture"}}) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::exists(status)) continue;
    if (!fs::is_regular_file(status))
      return Error(ErrorCode::kExists, path + ": exists and is not a regular file; choose another output");
    const base::FileKind found = base::mark_of_file(path).kind;
    if (found != kind && found != base::FileKind::kEmpty)
      return Error(ErrorCode::kExists,
                   path + ": is not a " + what + " and would not be replaced; choose another output, or remove it");
  }
  return {};
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
  if (::access(program.folder.c_str(), W_OK | X_OK) != 0) return base::system_error("write to", program.folder, errno);
  return no_foreign_file(program);
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
  return Error(ErrorCode::kInvalidArgument, "--ring " + printable(text) + ": expected a size (64MiB) or seconds");
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
  if (!options.output.empty()) return Error(ErrorCode::kInvalidArgument, "--config: use -o for the output");
  return config;
}

Result<std::string> config_of(const RecordArguments& arguments, ProgramToRecord& program) {
  Result<std::string> config = config_of_options(arguments);
  if (!config) return config;
  const char* const given = std::getenv("RANGEFINDER_CONFIG");
  std::string all = arguments.ring.empty() ? "" : "dump_signal=USR2,";
  if (given != nullptr && given[0] != '\0') all += std::string(given) + ",";
  all += *config;
  SessionOptions options;
  (void)options.apply(all);  // what the environment gets wrong is left out, as everywhere
  if (options.record_signal != 0 && (options.delay.count() != 0 || options.duration.count() != 0 || options.until_step))
    return Error(ErrorCode::kInvalidArgument,
                 "--delay, --duration, --until-step: cannot be combined with record_signal");
  if (!arguments.ring.empty()) program.dump_signal = options.dump_signal;
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

Result<ProgramToRecord> program_of(const RecordArguments& arguments, const std::vector<std::string>& words) {
  ProgramToRecord program;
  program.words = words;
  const Result<base::RecordId> record = new_record();
  if (!record) return record.error();
  program.record = *record;
  if (Status status = no_other_tool(); !status.ok()) return std::move(status).error();
  if (Status status = set_output(arguments, program); !status.ok()) return std::move(status).error();
  const Result<std::string> config = config_of(arguments, program);
  if (!config) return config.error();
  const Result<std::string> domains = domains_of(arguments);
  if (!domains) return domains.error();
  const Result<std::string> injection = find_injection();
  if (!injection) return injection.error();
  program.environment = {{"NVTX_INJECTION64_PATH", *injection},
                         {"CUDA_INJECTION64_PATH", *injection},
                         {"RANGEFINDER_RECORD", base::with_doubled_percents(program.folder) + "/" + program.name},
                         {base::kRecordIdVariable, base::text_of(program.record)},
                         {"RANGEFINDER_CONFIG", *config}};
  if (!domains->empty()) program.environment.emplace_back("RANGEFINDER_NVTX_DOMAINS", *domains);
  if (!arguments.step_range.empty()) program.environment.emplace_back("RANGEFINDER_STEP_RANGE", arguments.step_range);
  choose_nccl_plugin(fs::path(*injection).parent_path(), program);
  for (const std::string& entry : arguments.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Error(ErrorCode::kInvalidArgument, "--env " + entry + ": expected NAME=VALUE");
    program.environment.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  if (Status status = not_switched_off(program); !status.ok()) return std::move(status).error();
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

std::string device_work(const CaptureInfo& info) {
  std::string_view state = info.device_state;
  if (state == "full")
    return ", " + counted(info.launches, "launch", "launches") + ", " +
           counted(info.activities, "device activity", "device activities");
  if (state.starts_with("host_only: ")) state.remove_prefix(std::strlen("host_only: "));
  return "; no device activity" + (state.empty() ? std::string() : ": " + printable(state));
}

/// Of a program that was killed, the capture has to be kept together with what is beside it.
std::string unclean_end(const CaptureInfo& info) {
  if (info.ended_cleanly || info.path.ends_with(".live")) return {};
  const std::string live = info.path + ".live";
  std::error_code error;
  return "; the program did not end it" +
         (fs::exists(live, error)
              ? ", keep " + printable(live) + " with it, or make one file of both: rangefinder check " +
                    printable(info.path) + " --repair NEW.rfcap"
              : "");
}

/// One line on what a capture holds, and how to look at it.
std::string described(const std::string& path, const Result<CaptureInfo>& info, bool wants_steps) {
  if (!info) return info.error().message();
  for (const auto& [key, value] : info->metadata) {
    if (key == "not_recorded")
      return "process " + std::to_string(info->pid) + " was not recorded: " + printable(value) +
             "; see: rangefinder info " + printable(path);
  }
  return "recorded " + counted(info->ranges, "range", "ranges") + device_work(*info) + "; " + losses(info->health) +
         unclean_end(*info) + (wants_steps && info->steps == 0 ? "; no steps" : "") + "; see: rangefinder report " +
         printable(path);
}

/// Where the captures are, if the program itself recorded nothing and none has the name that was asked for.
std::string captures_of_children(const ProgramToRecord& program, const std::vector<std::string>& captures) {
  constexpr std::size_t kMaxNamed = 8;
  const std::string name = printable(base::file_name(program.words.front()));
  const std::string file = printable(*file_of(program));
  std::string out =
      name + " itself recorded nothing, so " +
      (base::exists(*file_of(program)) ? file + " is still an earlier recording" : file + " was not written") +
      "; its child processes wrote ";
  for (std::size_t i = 0; i < std::min(captures.size(), kMaxNamed); ++i)
    out += (i == 0 ? "" : ", ") + printable(captures[i]);
  if (captures.size() > kMaxNamed) out += " and " + with_thousands(captures.size() - kMaxNamed) + " more";
  return out;
}

/// Nothing of it changes how the command ends.
void tell(const ProgramToRecord& program, const Recorded& recorded, const RecordArguments& arguments) try {
  const bool wants_steps = arguments.until_step != 0 || !arguments.step_range.empty();
  std::uint64_t ranges = 0;
  base::LeftOutDomains left_out;
  if (recorded.captures.empty()) {
    complain(
        "nothing recorded: no process of the program called NVTX or the CUDA driver; or the program is static or "
        "setuid, cleared its environment, or could not record (RANGEFINDER_LOG=error says why)");
    complain(
        "to get ranges: in Python wrap code in rangefinder.range(\"name\") or torch.cuda.nvtx.range(\"name\"), or run "
        "it under torch.autograd.profiler.emit_nvtx(); in C and C++ use nvtx3, or link rangefinder and use "
        "ProfileRange");
    return;
  }
  const std::optional<std::string> file = file_of(program);
  bool is_found = !file;
  for (const std::string& path : recorded.captures) {
    const Result<CaptureInfo> info = inspect_capture(path, true);
    complain(described(path, info, wants_steps));
    if (info.ok()) {
      ranges += info->ranges;
      left_out.add(info->metadata);
    }
    is_found = is_found || path == *file || (info.ok() && info->pid == static_cast<std::uint32_t>(recorded.pid));
  }
  if (!is_found) complain(captures_of_children(program, recorded.captures));
  if (const std::string plugin = nccl_plugin_of(program); !plugin.empty() && !base::is_own_nccl_plugin(plugin))
    complain(std::string(base::kNcclVariable) + "=" + printable(plugin) +
             " was left as it is: NCCL tells that plugin of its collectives, and not rangefinder's");
  if (ranges == 0 && !arguments.domains.empty())
    complain("no range is in the domains given by --domain" +
             (left_out.empty() ? std::string() : "; the program used these domains: " + left_out.text()));
} catch (const std::exception& error) {
  std::fprintf(stderr, "rangefinder: cannot summarise the recording: %s\n", error.what());
}

int failed_code(ErrorCode code) {
  return code == ErrorCode::kNotFound ? 127 : code == ErrorCode::kInternal ? kRecordFailed : 126;
}

int run_record(const Common& common, const RecordArguments& arguments, const std::vector<std::string>& words) {
  const Result<ProgramToRecord> program = program_of(arguments, words);
  if (!program) {
    complain("record: " + program.error().message());
    return kRecordFailed;
  }
  const Result<Recorded> recorded = run_program(*program);
  if (!recorded) {
    complain("record: " + recorded.error().message());
    return failed_code(recorded.error().code());
  }
  if (!common.quiet) tell(*program, *recorded, arguments);
  return end_as(recorded->wait_status);
}

}  // namespace

int cut_program(const CLI::App& app, int argc, const char* const* argv, std::vector<std::string>& program) {
  if (argc < 2 || std::string_view(argv[1]) != "record") return argc;
  const CLI::App* const verb = app.get_subcommand("record");
  const auto takes_value = [&](std::string_view word) {
    const std::string name(word.starts_with("--") ? word : word.substr(0, 2));  // -oFILE has it with it
    const CLI::Option* const option = verb->get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_max() > 0 && word.size() == name.size();
  };
  int at = 2;
  while (at < argc && argv[at][0] == '-' && argv[at][1] != '\0' && std::string_view(argv[at]) != "--")
    at += takes_value(argv[at]) ? 2 : 1;
  const int ours = std::min(at, argc);
  const bool marked = at < argc && std::string_view(argv[at]) == "--";
  program.assign(argv + std::min(marked ? at + 1 : at, argc), argv + argc);
  return ours;
}

void add_record(CLI::App& app, Common& common, int& result, const std::vector<std::string>& program) {
  auto arguments = std::make_shared<RecordArguments>();
  CLI::App* verb = app.add_subcommand("record",
                                      "Run an unmodified binary and record its NVTX ranges and CUDA work: "
                                      "record [options] -- PROGRAM [ARGUMENTS]");
  // For the help alone: cut_program has taken it.
  verb->add_option("PROGRAM", "The program and its arguments, after --")->type_name("");
  verb->add_option("-o,--output", arguments->output,
                   "The capture (default PROGRAM-%p.rfcap); %p process id, %h host, %r rank. Child processes insert "
                   "their id before the ending. An earlier capture of that name is replaced")
      ->type_name("FILE");
  takes_number_of_at_least_0(verb->add_option("--delay", arguments->delay_s, session_key_text("delay")))
      ->type_name("SECONDS");
  takes_number_above_0(verb->add_option("--duration", arguments->duration_s, session_key_text("duration")))
      ->type_name("SECONDS");
  takes_whole_number<std::uint32_t>(
      verb->add_option("--until-step", arguments->until_step,
                       session_key_text("until_step") + ". See --step-range for programs that do not call step()"),
      1)
      ->type_name("N");
  verb->add_option("--step-range", arguments->step_range, "A step ends when this NVTX push/pop range ends")
      ->type_name("NAME");
  verb->add_option("--ring", arguments->ring,
                   "Flight recorder: keep the last SIZE (64MiB) or SECONDS (30); written at the end and on SIGUSR2")
      ->type_name("SIZE|SECONDS");
  verb->add_option("--domain", arguments->domains,
                   "Record only these NVTX domains (`default`: calls without a domain); -NAME leaves one out")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--config", arguments->config,
                   "Options of the recording, as in RANGEFINDER_CONFIG: KEY=VALUE,...; `--config help` lists them")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  verb->add_option("--env", arguments->environment, "Set an environment variable for the program")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  verb->add_flag("-q,--quiet", common.quiet, "Print no summary at the end");
  verb->callback([&common, &result, &program, arguments] {
    if (program.empty() && arguments->config == std::vector<std::string>{"help"}) {
      result = write_stdout(session_keys_help()) ? kSuccess : kRecordFailed;
      return;
    }
    if (program.empty()) throw CLI::RequiredError("PROGRAM");
    result = run_record(common, *arguments, program);
  });
}

}  // namespace rangefinder::cli
