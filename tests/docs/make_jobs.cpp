// SPDX-License-Identifier: MIT
#include "make_jobs.hpp"

#include <rangefinder/detail/collectives.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace docs_test {
namespace {

using rangefinder::CollectiveKind;
using rangefinder::detail::CollectiveCall;
using rangefinder::detail::CollectivePhase;
using rangefinder::testing::CaptureBuilder;

constexpr std::int64_t kUs = 1'000;
constexpr std::uint32_t kSteps = 10;

std::vector<CaptureBuilder> ranks_of_job(int count) {
  std::vector<CaptureBuilder> ranks(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    ranks[static_cast<std::size_t>(rank)]
        .meta("program", "train")
        .meta("rank", std::to_string(rank))
        .meta("world_size", std::to_string(count));
  }
  return ranks;
}

CollectiveCall call_of(CollectiveKind kind, const char* name, std::int64_t number, int peer) {
  CollectiveCall call;
  call.kind = kind;
  call.name = name;
  call.number = number;
  call.elements_in = call.elements_out = 1 << 18;
  call.dtype = "Float";
  call.peer = peer;
  return call;
}

/// What a stage of a pipeline does, and when its messages have left it.
struct Stage {
  std::vector<std::pair<bool, std::size_t>> operations;  // forward, micro-batch
  std::size_t next = 0;
  std::int64_t free_ns = 0;
  std::int64_t left_ns[2][8] = {};  // [forward][micro-batch]; 0: not yet
};

constexpr std::size_t kStages = 4, kMicroBatches = 8;

/// One step, which each stage begins when it is free. Messages take no time.
class PipelineStep {
 public:
  PipelineStep(std::vector<CaptureBuilder>& ranks, const std::vector<std::int64_t>& free_ns)
      : ranks_(ranks), stages_(kStages) {
    for (std::size_t s = 0; s < kStages; ++s) {
      const std::size_t ahead = kStages - 1 - s;
      for (std::size_t i = 0; i < ahead; ++i) stages_[s].operations.emplace_back(true, i);
      for (std::size_t i = 0; i < kMicroBatches; ++i) {
        if (ahead + i < kMicroBatches) stages_[s].operations.emplace_back(true, ahead + i);
        stages_[s].operations.emplace_back(false, i);
      }
      stages_[s].free_ns = free_ns[s];
    }
  }

  /// Gives when each stage is free again.
  std::vector<std::int64_t> run() {
    for (bool moved = true; std::exchange(moved, false);) {
      for (std::size_t s = 0; s < kStages; ++s) {
        while (stages_[s].next < stages_[s].operations.size() && work(s)) moved = true;
      }
    }
    std::vector<std::int64_t> free_ns;
    for (const Stage& stage : stages_) free_ns.push_back(stage.free_ns + 1);  // its last message is of this step
    return free_ns;
  }

 private:
  /// The next operation of a stage; false: what it needs is not there yet.
  bool work(std::size_t s) {
    Stage& stage = stages_[s];
    CaptureBuilder& capture = ranks_[s];
    const auto [forward, micro_batch] = stage.operations[stage.next];
    const bool has_source = forward ? s > 0 : s + 1 < kStages, has_target = forward ? s + 1 < kStages : s > 0;
    const std::size_t source = forward ? s - 1 : s + 1, target = forward ? s + 1 : s - 1;
    if (has_source) {
      const std::int64_t sent_ns = stages_[source].left_ns[forward][micro_batch];
      if (sent_ns == 0) return false;
      const std::int64_t at_ns = std::max(sent_ns, stage.free_ns);
      capture.collective(call_of(CollectiveKind::kReceive, "recv", -1, static_cast<int>(source)), "0", kStages,
                         stage.free_ns);
      capture.phase(CollectivePhase::kReturned, stage.free_ns).phase(CollectivePhase::kWaitBegan, stage.free_ns);
      capture.phase(CollectivePhase::kWaitEnded, at_ns);
      stage.free_ns = at_ns;
    }
    const std::int64_t end_ns = stage.free_ns + (forward ? 100 : 200) * kUs;
    capture.range(forward ? "forward" : "backward", stage.free_ns, end_ns);
    stage.free_ns = stage.left_ns[forward][micro_batch] = end_ns;
    if (has_target) {
      capture.collective(call_of(CollectiveKind::kSend, "send", -1, static_cast<int>(target)), "0", kStages, end_ns);
      capture.phase(CollectivePhase::kReturned, end_ns);
    }
    ++stage.next;
    return true;
  }

  std::vector<CaptureBuilder>& ranks_;
  std::vector<Stage> stages_;
};

}  // namespace

std::vector<CaptureBuilder> job_with_slow_rank() {
  constexpr int kRanks = 3;
  std::vector<CaptureBuilder> ranks = ranks_of_job(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    CaptureBuilder& capture = ranks[static_cast<std::size_t>(rank)];
    for (std::uint32_t step = 0; step <= kSteps; ++step) {
      const std::int64_t t = kUs + step * 1000 * kUs, data_ns = (rank == 2 ? 300 : 100) * kUs;
      capture.step(step, t);
      if (step == kSteps) break;
      capture.range("data", t, t + data_ns);
      capture.range("forward", t + data_ns, t + data_ns + 200 * kUs);
      capture.range("backward", t + data_ns + 200 * kUs, t + data_ns + 600 * kUs);
      const std::int64_t reduce = t + data_ns + 600 * kUs, done = t + 1000 * kUs;
      capture.range("all_reduce", reduce, done);
      capture.collective(call_of(CollectiveKind::kAllReduce, "allreduce", step, -1), "0", kRanks, reduce);
      capture.phase(CollectivePhase::kStarted, reduce).phase(CollectivePhase::kCompleted, done);
      capture.phase(CollectivePhase::kReturned, done);
    }
  }
  return ranks;
}

std::vector<CaptureBuilder> pipeline_job() {
  std::vector<CaptureBuilder> ranks = ranks_of_job(kStages);
  std::vector<std::int64_t> free_ns(kStages, kUs);
  for (std::uint32_t step = 0; step <= kSteps; ++step) {
    for (std::size_t s = 0; s < kStages; ++s) ranks[s].step(step, free_ns[s]);
    if (step < kSteps) free_ns = PipelineStep(ranks, free_ns).run();
  }
  return ranks;
}

namespace {

/// One step of a training on a device, which begins at `t`; gives when it ends. `extra_ns`: what the machine took
/// longer.
std::int64_t add_training_step(CaptureBuilder& capture, std::int64_t t, bool changed, std::int64_t extra_ns) {
  std::int64_t host = t, device = t;
  const auto kernel = [&](const char* name, std::int64_t lasts_ns) {
    capture.launch(host + 5 * kUs);
    const std::int64_t begin = std::max(device, host + 10 * kUs);
    capture.kernel(name, begin, device = begin + lasts_ns + extra_ns);
    host += 20 * kUs;
  };
  const auto layer = [&](int number, std::int64_t product_ns) {
    const std::int64_t begin = host;
    kernel("ampere_sgemm_128x64_tn", product_ns);
    kernel("void at::native::vectorized_elementwise_kernel<4>()", 120 * kUs);
    capture.range("layers." + std::to_string(number), begin, host);
  };
  capture.range("data", host, host + 150 * kUs);
  host += 150 * kUs;
  const std::int64_t forward = host;
  layer(0, 800 * kUs);
  layer(1, changed ? 1'000 * kUs : 800 * kUs);
  if (changed) layer(2, 400 * kUs);
  if (changed) capture.range("encoder", forward, host);
  capture.range("forward", forward, host + 5 * kUs);
  host = std::max(host + 5 * kUs, device);
  if (changed) capture.range("log", host, host + 90 * kUs);
  return host + (changed ? 90 * kUs : 0) + 10 * kUs;
}

}  // namespace

std::vector<CaptureBuilder> runs_of_training(bool changed) {
  std::vector<CaptureBuilder> runs(5);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    CaptureBuilder& capture = runs[run];
    capture.h100().meta("program", "train");
    std::int64_t t = 1'000 * kUs;
    capture.step(0, t);
    for (std::uint32_t step = 0; step < 24; ++step) {
      const auto noise = static_cast<std::int64_t>((step * 7 + run * 3) % 5) * 400;
      t = add_training_step(capture, t, changed, noise);
      capture.step(step + 1, t);
    }
  }
  return runs;
}

}  // namespace docs_test
