// SPDX-License-Identifier: MIT
#include "common/pipeline_schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

namespace examples {

std::vector<PipelineOperation> pipeline_operations(PipelineSchedule schedule, std::int64_t stage, std::int64_t stages,
                                                   std::int64_t micro_batches) {
  // So many micro-batches go forward before the first goes back.
  const std::int64_t ahead = schedule == PipelineSchedule::kOneForwardOneBackward
                                 ? std::min(stages - stage - 1, micro_batches)
                                 : micro_batches;
  std::vector<PipelineOperation> all;
  for (std::int64_t i = 0; i < ahead; ++i) all.push_back({true, i});
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    if (ahead + i < micro_batches) all.push_back({true, ahead + i});
    all.push_back({false, i});
  }
  return all;
}

double ideal_bubble_ratio(std::int64_t stages, std::int64_t micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches + stages - 1);
}

double bubble_ratio(const std::vector<StageTimes>& stages) {
  const std::size_t count = stages.size();
  std::vector<std::size_t> next(count, 0);
  std::vector<std::int64_t> free_ns(count, 0);
  std::vector<std::map<std::pair<bool, std::int64_t>, std::int64_t>> ended(count);
  // When what an operation needs is there; nothing: not known yet.
  const auto ready_ns = [&](std::size_t stage, const PipelineOperation& operation) -> std::optional<std::int64_t> {
    if (operation.forward ? stage == 0 : stage + 1 == count) return 0;
    const auto& of_neighbour = ended[operation.forward ? stage - 1 : stage + 1];
    const auto found = of_neighbour.find({operation.forward, operation.micro_batch});
    if (found == of_neighbour.end()) return std::nullopt;
    return found->second;
  };
  std::int64_t working_ns = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < count; ++stage) {
      const StageTimes& mine = stages[stage];
      for (; next[stage] < mine.operations.size(); ++next[stage], moved = true) {
        const PipelineOperation& operation = mine.operations[next[stage]];
        const std::optional<std::int64_t> ready = ready_ns(stage, operation);
        if (!ready) break;
        const std::int64_t ns = mine.ns.at(next[stage]);
        free_ns[stage] = std::max(free_ns[stage], *ready) + ns;
        ended[stage][{operation.forward, operation.micro_batch}] = free_ns[stage];
        working_ns += ns;
      }
    }
  }
  for (std::size_t stage = 0; stage < count; ++stage)
    if (next[stage] != stages[stage].operations.size()) throw std::invalid_argument("stages wait for each other");
  const std::int64_t all_ns = count == 0 ? 0 : *std::max_element(free_ns.begin(), free_ns.end());
  return all_ns == 0 ? 0
                     : 1 - static_cast<double>(working_ns) / (static_cast<double>(count) * static_cast<double>(all_ns));
}

}  // namespace examples
