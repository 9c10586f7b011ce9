// SPDX-License-Identifier: MIT
#include "base/colour.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"

#include <rangefinder/doctor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace rangefinder::cli {
namespace {

const char* word(DoctorFinding::State state) {
  switch (state) {
    case DoctorFinding::State::kGood:
      return "ok";
    case DoctorFinding::State::kNote:
      return "note";
    case DoctorFinding::State::kMissing:
      return "missing";
  }
  return "";
}

std::string_view colour_of(DoctorFinding::State state) {
  switch (state) {
    case DoctorFinding::State::kGood:
      return base::colour::kGreen;
    case DoctorFinding::State::kNote:
      return base::colour::kYellow;
    case DoctorFinding::State::kMissing:
      return base::colour::kRed;
  }
  return "";
}

int run_doctor(const Common& common, const std::string& folder) {
  const std::vector<DoctorFinding> findings = rangefinder::run_doctor(folder);
  if (common.json) {
    std::string out = "{\"schema_version\":1,\"findings\":[";
    for (std::size_t i = 0; i < findings.size(); ++i) {
      out += fmt::format("{}{{\"topic\":{},\"state\":\"{}\",\"detail\":{},\"fix\":{}}}", i == 0 ? "" : ",",
                         json_string(findings[i].topic), word(findings[i].state), json_string(findings[i].detail),
                         json_string(findings[i].fix));
    }
    write_stdout(out + "]}\n");
  } else {
    const bool colour = common.terminal.colour(common.colour);
    for (const DoctorFinding& finding : findings) {
      write_stdout(fmt::format("{}{:<8}{} {:<14} {}\n", colour ? colour_of(finding.state) : std::string_view(),
                               word(finding.state), colour ? base::colour::kPlain : std::string_view(), finding.topic,
                               base::printable(finding.detail)));
      if (!finding.fix.empty()) write_stdout(fmt::format("{:<24}-> {}\n", "", base::printable(finding.fix)));
    }
  }
  const bool missing = std::any_of(findings.begin(), findings.end(),
                                   [](const auto& f) { return f.state == DoctorFinding::State::kMissing; });
  return missing ? kFindings : kSuccess;
}

}  // namespace

void add_doctor(CLI::App& app, Common& common, int& result) {
  auto folder = std::make_shared<std::string>(".");
  CLI::App* verb =
      app.add_subcommand("doctor", "Show what can be recorded on this machine, and how to enable the rest");
  verb->add_option("--folder", *folder, "Where captures will be written (default: the current folder)")
      ->type_name("FOLDER");
  add_common(*verb, common);
  verb->callback([&common, &result, folder] { result = run_doctor(common, *folder); });
}

}  // namespace rangefinder::cli
