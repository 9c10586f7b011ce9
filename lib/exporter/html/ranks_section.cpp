// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "exporter/html/device_time.hpp"
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"

#include <rangefinder/analysis/stragglers.hpp>

#include <algorithm>
#include <iterator>
#include <limits>

namespace rangefinder::html {
namespace {

constexpr std::size_t kMostCells = 500'000;

struct Metric {
  const char* column;
  const char* label;
  std::int64_t RankStep::*value;
};
constexpr Metric kMetrics[] = {
    {"excess_ns", "Own work, longer than on the median rank", &RankStep::excess_ns},
    {"step_ns", "Step", &RankStep::step_ns},
    {"own_ns", "Own work", &RankStep::own_ns},
    {"waited_ns", "Waited for other ranks", &RankStep::waited_ns},
    {"communication_ns", "Communication", &RankStep::communication_ns},
    {"input_ns", "Waited for data", &RankStep::input_ns},
};

std::string label_of(const Timeline& timeline, ProcessIndex process) {
  const ProcessInfo& info = timeline.processes[process];
  return info.rank >= 0 ? "rank " + std::to_string(info.rank) : "process " + std::to_string(info.pid);
}

std::string metrics_json() {
  std::string json;
  for (const Metric& metric : kMetrics)
    json += (json.empty() ? "{\"column\":" : ",{\"column\":") + json_of(metric.column) +
            ",\"label\":" + json_of(metric.label) + ",\"unit\":\"ns\"}";
  return "[" + json + "]";
}

}  // namespace

std::optional<Result<Stragglers>> compare_ranks(const PageInput& input) {
  if (input.timeline.steps.empty() || input.timeline.processes.size() < 2) return std::nullopt;
  return find_stragglers(input.timeline);
}

std::string ranks_section(const PageInput& input, const std::optional<Result<Stragglers>>& compared,
                          PageOutput& output) {
  if (!compared) {
    output.absent["ranks"] =
        "Ranks are compared by their steps: this needs a folder of captures of several ranks that "
        "call session.step().";
    return {};
  }
  const Result<Stragglers>& found = *compared;
  if (!found || !found->abstained.empty() || found->ranks.empty() || found->steps.empty()) {
    output.absent["ranks"] = !found                      ? found.error().message()
                             : !found->abstained.empty() ? found->abstained
                                                         : "No two ranks have steps in common.";
    return {};
  }
  const std::size_t steps = std::min(found->steps.size(), std::max<std::size_t>(1, kMostCells / found->ranks.size()));
  if (steps != found->steps.size()) {
    output.left_out += found->steps.size() - steps;
    output.left_why.push_back("the heat map of ranks has the last " + base::with_thousands(steps) + " of " +
                              base::with_thousands(found->steps.size()) + " steps");
  }
  const std::size_t first = found->steps.size() - steps;
  std::string ranks, numbers;
  for (const RankScore& score : found->ranks)
    ranks += (ranks.empty() ? "" : ",") + json_of(label_of(input.timeline, score.process));
  for (std::size_t step = first; step < found->steps.size(); ++step)
    numbers += (numbers.empty() ? "" : ",") + std::to_string(found->steps[step]);
  TableData table;
  for (const Metric& metric : kMetrics) table.add(metric.column, "f64");
  for (std::size_t rank = 0; rank < found->ranks.size(); ++rank) {
    for (std::size_t step = first; step < found->steps.size(); ++step) {
      const RankStep& cell = found->cell(rank, step);
      for (std::size_t i = 0; i < std::size(kMetrics); ++i) {
        const std::int64_t value = cell.*kMetrics[i].value;
        const bool known = cell.step_ns != kNoTime && value != kNoTime;
        table.f64(i, known ? static_cast<double>(value) : std::numeric_limits<double>::quiet_NaN());
      }
      table.next_row();
    }
  }
  return "{\"ranks\":[" + ranks + "],\"steps\":[" + numbers + "],\"metrics\":" + metrics_json() +
         ",\"table\":" + table.json(output.blocks) + "}";
}

}  // namespace rangefinder::html
