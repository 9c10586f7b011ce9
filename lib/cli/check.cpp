// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "cli/command.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/timeline.hpp>

#include <fmt/format.h>

#include <memory>

namespace rangefinder::cli {
namespace {

using base::printable;

struct CheckArguments {
  std::string input;
  std::string repaired;
  bool force = false;
};

/// What check found, whatever the input is.
struct Verdict {
  std::vector<CaptureFinding> findings;
  std::vector<std::string> notes;  ///< worth knowing, and no damage
  CaptureHealth health;
  bool whole() const { return findings.empty() && health.complete(); }
};

Result<Verdict> examine(const Common& common, const std::string& path) {
  Verdict verdict;
  Result<CaptureInfo> info = inspect_capture(path, true);
  if (info.ok()) {
    verdict.findings = std::move(info->findings);
    verdict.health = info->health;
    if (!info->ended_cleanly)
      verdict.findings.push_back({info->file_bytes, 0, "the file has no end: the program died, or still runs"});
    return verdict;
  }
  LoadOptions load;
  load.max_memory_bytes = common.max_memory;
  const Result<Timeline> timeline = load_timeline(path, load);
  if (!timeline) return timeline.error();
  verdict.health = timeline->health;
  // Damage is counted in health by every importer; a note says where it is, or something harmless.
  verdict.notes = timeline->notes;
  return verdict;
}

void print(const Common& common, const std::string& path, const Verdict& verdict) {
  if (common.json) {
    std::string out = fmt::format("{{\"schema_version\":1,\"path\":{},\"whole\":{},\"findings\":[", json_string(path),
                                  verdict.whole());
    for (std::size_t i = 0; i < verdict.findings.size(); ++i) {
      const CaptureFinding& finding = verdict.findings[i];
      out += fmt::format("{}{{\"offset\":{},\"bytes\":{},\"text\":{}}}", i == 0 ? "" : ",", finding.offset,
                         finding.bytes, json_string(finding.text));
    }
    out += "],\"notes\":[";
    for (std::size_t i = 0; i < verdict.notes.size(); ++i) out += (i == 0 ? "" : ",") + json_string(verdict.notes[i]);
    out += "],\"health\":{";
    bool first = true;
    for (const CaptureHealth::Entry& entry : verdict.health.entries()) {
      if (entry.count == 0) continue;
      out += fmt::format("{}{}:{}", first ? "" : ",", json_string(entry.name), entry.count);
      first = false;
    }
    write_stdout(out + "}}\n");
    return;
  }
  if (common.quiet) return;
  for (const CaptureFinding& finding : verdict.findings)
    write_stdout(fmt::format("{}: {}\n", printable(path), printable(finding.text)));
  for (const std::string& note : verdict.notes)
    write_stdout(fmt::format("{}: note: {}\n", printable(path), printable(note)));
  for (const CaptureHealth::Entry& entry : verdict.health.entries()) {
    if (entry.count != 0)
      write_stdout(fmt::format("{}: {}: {} {}\n", printable(path),
                               entry.severity == CaptureHealth::Severity::kLoss ? "lost" : "note",
                               base::with_thousands(entry.count), entry.text));
  }
  if (verdict.whole()) write_stdout(fmt::format("{}: whole\n", printable(path)));
}

int run_check(const Common& common, const CheckArguments& arguments) {
  bound_memory(common);
  const Result<Verdict> verdict = examine(common, arguments.input);
  if (!verdict) return fail(verdict.error());
  print(common, arguments.input, *verdict);
  if (!arguments.repaired.empty()) {
    const Result<std::uint64_t> records = repair_capture(arguments.input, arguments.repaired, arguments.force);
    if (!records) return fail(records.error());
    if (!common.quiet && !common.json)
      write_stdout(
          fmt::format("{}: written, {} records\n", printable(arguments.repaired), base::with_thousands(*records)));
  }
  return verdict->whole() ? kSuccess : kFindings;
}

}  // namespace

void add_check(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* verb = app.add_subcommand("check", "Check for damage and lost records; exit code 1 if there are any");
  verb->add_option("FILE", arguments->input, "A capture, a trace or an export")->required()->type_name("");
  verb->add_option("--repair", arguments->repaired, "Write what is readable of a capture as a new, complete one")
      ->type_name("OUT");
  verb->add_flag("--force", arguments->force, "Replace OUT if it exists");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] { result = run_check(common, *arguments); });
}

}  // namespace rangefinder::cli
