// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/gate.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace rangefinder::cli {
namespace {

struct GateArguments {
  std::vector<std::string> inputs;
  GateOptions gate;
  double confidence = 95;
  double run_spread = 2;
  GateTextOptions output;
  std::string junit;
  std::string markdown;
  std::string save;
  bool force = false;
  bool ascii = false;
};

/// Calls `work` with how to read, and shows how far it comes.
template <typename Work>
auto with_progress(const Common& common, const std::string& title, Work work) {
  Progress progress(common.terminal, common.shows_progress(), title);
  return work(load_options(common, progress));
}

int run_save(const Common& common, const GateArguments& arguments) {
  const Status saved = with_progress(common, "reading runs", [&](const LoadOptions& load) {
    return save_baseline(arguments.inputs, arguments.save, arguments.force, arguments.gate.projection, load);
  });
  if (!saved.ok()) return fail(saved.error());
  if (!common.quiet && !common.json) write_stdout(fmt::format("{}: written\n", base::printable(arguments.save)));
  return kSuccess;
}

/// Writes the result as a file too, where the arguments say so.
Status write_to_file(const GateResult& result, GateFormat format, const std::string& path) {
  if (path.empty()) return {};
  std::string text;
  const auto append = [&](std::string_view part) {
    text += part;
    return true;
  };
  GateTextOptions options;
  options.format = format;
  if (Status written = write_gate(result, options, append); !written.ok()) return written;
  if (path == "-") {
    write_stdout(text);
    return {};
  }
  return base::write_whole_file(path, text);
}

int exit_code_of(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kPass:
      return kSuccess;
    case GateVerdict::kRegression:
      return kFindings;
    case GateVerdict::kCannotTell:
      break;
  }
  return kUndecided;
}

int run_gate(const Common& common, GateArguments arguments) {
  bound_memory(common);
  if (!arguments.save.empty()) return run_save(common, arguments);
  arguments.gate.confidence = arguments.confidence / 100;
  arguments.gate.assumed_run_spread = arguments.run_spread / 100;
  const std::vector<std::string> candidate(arguments.inputs.begin() + 1, arguments.inputs.end());
  const Result<GateResult> result = with_progress(common, "reading runs", [&](const LoadOptions& load) {
    return rangefinder::run_gate({arguments.inputs.front()}, candidate, arguments.gate, load);
  });
  if (!result) return fail(result.error());
  for (const auto& [format, path] :
       {std::pair{GateFormat::kJunit, arguments.junit}, std::pair{GateFormat::kMarkdown, arguments.markdown}})
    if (Status written = write_to_file(*result, format, path); !written.ok()) return fail(written.error());
  const bool is_free = arguments.junit != "-" && arguments.markdown != "-";
  if (is_free && (!common.quiet || common.json)) {
    GateTextOptions& output = arguments.output;
    if (common.json) output.format = GateFormat::kJson;
    output.utf8 = common.terminal.utf8 && !arguments.ascii;
    output.colour = common.terminal.colour(common.colour);
    output.width = common.terminal.width;
    if (Status written = write_gate(*result, output, write_stdout); !written.ok()) return fail(written.error());
  }
  return exit_code_of(result->verdict);
}

void add_rules(CLI::App& verb, GateArguments& arguments) {
  verb.add_option("--fail-on", arguments.gate.rules,
                  "A rule, such as 'step.p50 > +2%' or 'memory.peak > +100MiB'; may be repeated (default: 'step > +2%' "
                  "and 'memory.peak > +2%', where there are data)")
      ->type_name("RULE")
      ->allow_extra_args(false);
  verb.add_option("--confidence", arguments.confidence, "Of the intervals, in percent (default 95)")
      ->check(CLI::Range(50.0, 99.99).description(""))
      ->type_name("PERCENT");
  verb.add_option("--run-spread", arguments.run_spread,
                  "How much times vary from run to run, where each side is one run and nothing tells it (default 2)")
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->type_name("PERCENT");
  verb.add_flag("--other-hardware", arguments.gate.other_hardware, "Compare recordings of other hardware too");
  add_attribution(verb, arguments.gate.projection.attribution,
                  "Attribution of device work: launch, forward, capture or auto (default auto)");
}

void add_files(CLI::App& verb, GateArguments& arguments) {
  takes_file(verb.add_option("--junit", arguments.junit, "Write the result as JUnit XML too; -: instead, to stdout"))
      ->type_name("FILE")
      ->group("Output");
  takes_file(verb.add_option("--markdown", arguments.markdown,
                             "Write the result as GitHub-flavoured Markdown too; -: instead, to stdout"))
      ->type_name("FILE")
      ->group("Output");
  verb.add_flag("--ascii", arguments.ascii, "Draw with ASCII characters only")->group("Output");
}

}  // namespace

void add_gate(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<GateArguments>();
  CLI::App* verb = app.add_subcommand("gate", "Fail where a program became slower by more than is allowed, for CI");
  verb->add_option(
          "RUN", arguments->inputs,
          "The baseline, and then runs of the candidate: captures, traces, folders of runs, or a file of --save")
      ->required()
      ->type_name("");
  add_rules(*verb, *arguments);
  add_files(*verb, *arguments);
  takes_file(verb->add_option("--save", arguments->save,
                              "Save all RUNs as one small file, a baseline for later, and compare nothing"))
      ->type_name("FILE");
  verb->add_flag("--force", arguments->force, "With --save: replace FILE if it exists");
  add_common(*verb, common);
  verb->footer(
      "Exit codes: 0 all rules pass; 1 regression; 4 cannot tell; 2 wrong use, other hardware or unreadable input.\n"
      "docs/reference/gate.md has the language of rules.");
  verb->callback([&common, &result, arguments, verb] {
    if (arguments->save.empty() && arguments->inputs.size() < 2)
      throw CLI::ValidationError("gate: a candidate is missing; gate BASELINE CANDIDATE...");
    if (!arguments->save.empty() && verb->count("--fail-on") != 0)
      throw CLI::ValidationError("--save and --fail-on: choose one");
    if (arguments->save.empty() && arguments->force) throw CLI::ValidationError("--force goes with --save");
    if (arguments->junit == "-" && arguments->markdown == "-")
      throw CLI::ValidationError("--junit - and --markdown -: choose one");
    result = run_gate(common, *arguments);
  });
}

}  // namespace rangefinder::cli
