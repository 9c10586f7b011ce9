// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Pipeline parallelism: which rank is which stage, the schedule, and how long stages wait for each other.
namespace rangefinder {

/// In which order stages work on micro-batches.
enum class PipelineSchedule : std::uint8_t {
  kForwardOnly,            ///< nothing goes back: inference
  kNaive,                  ///< each micro-batch goes forward and back before the next one starts
  kGPipe,                  ///< all micro-batches forward, then all back
  kOneForwardOneBackward,  ///< 1F1B: some forward, then one back for one forward
  kOther,                  ///< another one, or the recordings do not tell
};

/// A rank of a pipeline.
struct PipelineStage {
  std::int64_t rank = -1;        ///< of the job
  ProcessIndex process = kNone;  ///< kNone: there is no recording of it
  /// Its busy time is that of its devices; else that of its host.
  bool on_device = false;
};

/// What a stage did in a step, nanoseconds.
struct PipelineStageTimes {
  bool recorded = false;  ///< of this stage there is a recording of this step; else all figures are 0
  /// The step of this rank, with the time before it for which others were in the step already, and the time behind it
  /// until all had done it, as far as that is in no other step. Without a common clock the step alone.
  std::int64_t span_ns = 0;
  /// On devices, the time in which kernels ran that are not communication, or copies or memsets. Without devices, the
  /// time of the step that the host did not spend in calls of collectives, sends and receives or waiting for them.
  std::int64_t busy_ns = 0;
  std::int64_t bubble_ns = 0;  ///< span_ns - busy_ns
  /// Most micro-batches at a time that had gone forward here and not yet back.
  std::int64_t most_kept = 0;
};

struct PipelineStep {
  std::optional<std::int64_t> number;  ///< nothing: the recordings have no steps, and this is all of them
  PipelineSchedule schedule = PipelineSchedule::kOther;
  std::int64_t micro_batches = 0;
  /// How often the pipeline filled and ran empty again: a naive one for each micro-batch, others once per step.
  std::int64_t flushes = 0;
  /// The share of their time for which stages wait where all of them take equally long and messages take no time:
  /// 1 - m / (m + f (p - 1)) for m micro-batches, p stages and f flushes. That is (p - 1) / (m + p - 1) for GPipe and
  /// 1F1B, and (p - 1) / p for a naive pipeline.
  double ideal_bubble_ratio = 0;
  /// The greatest busy time of a stage over the mean of all that were recorded; 1: all are equal. 0: nothing is known.
  double imbalance = 0;
  std::uint32_t slowest = kNone;           ///< the stage with the greatest busy time
  std::vector<PipelineStageTimes> stages;  ///< as many as in Pipeline::stages
};

struct Pipeline {
  std::vector<PipelineStage> stages;  ///< in the order in which micro-batches go forward
  std::vector<PipelineStep> steps;    ///< in order of their numbers
  /// Nothing told which end is the first stage: the end with the lower rank was taken.
  bool order_assumed = false;
  /// The clocks of all ranks can be compared.
  bool common_clock = false;
};

/// Ranks that send and receive, but are no pipeline.
struct RefusedPipeline {
  std::vector<std::int64_t> ranks;
  std::string reason;  ///< for people
};

struct Pipelines {
  std::vector<Pipeline> pipelines;  ///< in order of the rank of their first stage
  std::vector<RefusedPipeline> refused;
};

/// Finds the pipelines of a job: chains of ranks, each of which sends to its neighbours and receives from them
/// (CollectiveKind::kSend, kReceive), one message per micro-batch and direction. Several chains, as where each replica
/// of a model has its own pipeline, are told apart.
///
///   for (const rangefinder::Pipeline& pipeline : rangefinder::find_pipelines(*timeline).pipelines)
///     std::cout << pipeline.stages.size() << " stages\n";
///
/// The first stage is the end that sends before it receives. A message counts as received when its work was done, as
/// sent when it was called (on a device: when its work began). Where a kernel does several of them at once, calls
/// without other launches between them count as one, and send before they receive.
///
/// How long the host waited for a message is known from CollectiveRow::wait_begin_ns. Where that was not recorded, it
/// is at most the time before the message was there in which the thread began and ended no range and no call.
///
/// Threads: any; a timeline is not changed.
/// Cost:    O(n log n) in collectives, ranges, launches, activities and steps.
RANGEFINDER_EXPORT Pipelines find_pipelines(const Timeline& timeline);

/// "GPipe", "1F1B"; static.
RANGEFINDER_EXPORT const char* to_string(PipelineSchedule schedule) noexcept;

}  // namespace rangefinder
