// SPDX-License-Identifier: MIT
#include "analyses/subjects.hpp"

#include "compare/run_figures.hpp"
#include "report/view.hpp"

#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/analysis/hang.hpp>
#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/analysis/pipeline.hpp>
#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/report.hpp>

#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace bench {
namespace {

using namespace rangefinder;

constexpr std::size_t kTopRows = 20;  // of lists of instances, as a terminal shows them

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

void add_projections(std::vector<Subject>& subjects) {
  const std::pair<const char*, Attribution> attributions[] = {{"launch", Attribution::kLaunch},
                                                              {"forward", Attribution::kForward},
                                                              {"capture", Attribution::kCapture},
                                                              {"auto", Attribution::kAuto}};
  for (const auto& [name, attribution] : attributions)
    subjects.push_back({std::string("project() by ") + name, [attribution = attribution](const Timeline& timeline) {
                          ProjectionOptions options;
                          options.attribution = attribution;
                          const Account account = project(timeline, options).account;
                          expect(account.total.gpu_ops == timeline.activities.size(),
                                 "activities are not accounted for");
                        }});
}

void add_breakdowns(std::vector<Subject>& subjects) {
  const std::pair<const char*, BreakdownBy> kinds[] = {
      {"device", BreakdownBy::kDevice}, {"step", BreakdownBy::kStep}, {"range", BreakdownBy::kRange}};
  for (const auto& [name, by] : kinds)
    subjects.push_back({std::string("breakdown() by ") + name, [by = by](const Timeline& timeline) {
                          BreakdownOptions options;
                          options.by = by;
                          expect(breakdown(timeline, options).size() >= timeline.devices.size(), "rows are missing");
                        }});
}

void add_analyses(std::vector<Subject>& subjects) {
  add_projections(subjects);
  add_breakdowns(subjects);
  subjects.push_back({"match_collectives()", [](const Timeline& timeline) {
                        expect(!match_collectives(timeline).collectives.empty(), "nothing was matched");
                      }});
  subjects.push_back(
      {"find_hangs()", [](const Timeline& timeline) { expect(find_hangs(timeline).empty(), "the job hangs"); }});
  subjects.push_back({"find_pipelines()", [](const Timeline& timeline) {
                        expect(!find_pipelines(timeline).pipelines.empty(), "no pipeline was found");
                      }});
  subjects.push_back({"find_stragglers()", [](const Timeline& timeline) {
                        const Result<Stragglers> found = find_stragglers(timeline);
                        expect(found.ok() && found->ranks.size() == timeline.processes.size(), "ranks are missing");
                      }});
  subjects.push_back({"figures_of(), for diff and gate", [](const Timeline& timeline) {
                        const compare::Run run = compare::figures_of(timeline);
                        expect(run.steps.size() * timeline.processes.size() == timeline.steps.size(),
                               "steps are missing");
                      }});
  for (const bool by_shape : {false, true})
    subjects.push_back({by_shape ? "key_averages() by shape" : "key_averages()", [by_shape](const Timeline& timeline) {
                          expect(!key_averages(timeline, by_shape).groups.empty(), "no operator was found");
                        }});
}

void add_view(std::vector<Subject>& subjects, std::string name, ReportOptions options) {
  subjects.push_back({std::move(name), [options = std::move(options)](const Timeline& timeline) {
                        std::size_t bytes = 0;
                        const Status status = write_report(timeline, options, [&](std::string_view text) {
                          bytes += text.size();
                          return true;
                        });
                        if (!status.ok()) throw std::runtime_error(status.error().message());
                        expect(bytes != 0, "the report is empty");
                      }});
}

void add_views(std::vector<Subject>& subjects) {
  for (const report::View* view : report::views()) {
    const std::string name(view->name);
    ReportOptions options;
    options.view = name;
    add_view(subjects, name, options);
    if ((view->variants & report::kSummary) != 0) {
      options.view = name + ":summary";
      add_view(subjects, options.view, options);
      options.view = name;
    }
    if (view->description.find("--instances") != std::string_view::npos) {
      options.instances = true;
      options.top = kTopRows;
      add_view(subjects, name + " --instances --top 20", options);
    }
  }
  ReportOptions options;
  options.view = "breakdown";
  for (const char* by : {"step", "range"}) {
    options.by = by;
    add_view(subjects, std::string("breakdown --by ") + by, options);
  }
  options = {};
  options.view = "tree";
  options.fold = true;
  add_view(subjects, "tree --fold", options);
  options = {};
  options.view = "ops";
  options.by_shape = true;
  add_view(subjects, "ops --by-shape", options);
}

}  // namespace

std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  add_analyses(subjects);
  add_views(subjects);
  return subjects;
}

std::string missing_for(const std::string& subject, const Timeline& timeline) {
  const std::string name = subject.substr(0, subject.find_first_of(" :("));
  for (const report::View* view : report::views())
    if (view->name == name) return report::missing_for(*view, timeline);
  return {};
}

void check_answers(const Timeline& timeline) {
  expect(timeline.steps.size() % timeline.processes.size() == 0, "ranks have different numbers of steps");
  const Account account = project(timeline, {}).account;
  expect(account.owned.gpu_ops == account.total.gpu_ops, "work has no owner");
  const MatchedCollectives matched = match_collectives(timeline);
  if (!matched.refused.empty()) throw std::runtime_error("collectives were refused: " + matched.refused.front().reason);
  expect(matched.parts.size() == timeline.collectives.size(), "collectives are missing");
  for (const MatchedCollective& one : matched.collectives)
    expect(one.part_count == one.ranks, "a collective is not whole");
  const Pipelines pipelines = find_pipelines(timeline);
  if (!pipelines.refused.empty())
    throw std::runtime_error("pipelines were refused: " + pipelines.refused.front().reason);
  expect(pipelines.pipelines.size() * 2 == timeline.processes.size(), "a pipeline is missing");
}

}  // namespace bench
