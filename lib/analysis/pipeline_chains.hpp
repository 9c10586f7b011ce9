// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pipeline_messages.hpp"

#include <rangefinder/analysis/pipeline.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

/// Ranks of a pipeline, in the order of its stages.
struct PipelineChain {
  std::vector<std::int64_t> ranks;
  /// Its messages are those of this group; nothing: those of all groups.
  std::optional<ProcessGroupIndex> group;
  bool order_assumed = false;
  bool goes_back = false;  ///< later stages send to earlier ones

  bool has(const PipelineMessage& message) const noexcept { return !group || *group == message.group; }
};

/// Chains among the ranks that exchange messages. What is none goes to `refused`.
std::vector<PipelineChain> pipeline_chains(const PipelineMessages& messages, std::vector<RefusedPipeline>& refused);

}  // namespace rangefinder::analysis
