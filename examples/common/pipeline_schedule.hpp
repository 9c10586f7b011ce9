// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace examples {

enum class PipelineSchedule : std::uint8_t {
  kNaive,                  ///< the whole batch as one micro-batch
  kGPipe,                  ///< all micro-batches forward, then all back
  kOneForwardOneBackward,  ///< 1F1B: a stage goes back as soon as the stages after it have
};

struct PipelineOperation {
  bool forward = true;
  std::int64_t micro_batch = 0;
  bool operator==(const PipelineOperation&) const = default;
};

/// What a stage does, in order.
std::vector<PipelineOperation> pipeline_operations(PipelineSchedule schedule, std::int64_t stage, std::int64_t stages,
                                                   std::int64_t micro_batches);

/// The share of their time for which stages wait when all operations of one direction take equally long and messages
/// take nothing: (stages - 1) / (micro_batches + stages - 1).
double ideal_bubble_ratio(std::int64_t stages, std::int64_t micro_batches);

struct StageTimes {
  std::vector<PipelineOperation> operations;
  std::vector<std::int64_t> ns;  ///< of each of them
};

/// The share of their time for which stages would wait if each had a processor of its own and messages took nothing:
/// operations of these lengths, laid out as their order and what they need of each other allow.
///
/// Errors: throws std::invalid_argument where stages wait for each other.
double bubble_ratio(const std::vector<StageTimes>& stages);

}  // namespace examples
