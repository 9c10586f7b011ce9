// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/job_of_one_group.hpp"
#include "timeline/collectives.hpp"

#include <rangefinder/analysis/pipeline.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace rangefinder::testing {

enum class OrderOfWork : std::uint8_t { kSerial, kGPipe, kOneF1B, kForwardOnly };

struct StageOperation {
  bool forward;
  std::int64_t micro_batch;
};

/// What a stage does in a step, in order.
inline std::vector<StageOperation> operations_of(OrderOfWork order, std::int64_t stage, std::int64_t stages,
                                                 std::int64_t micro_batches) {
  std::vector<StageOperation> all;
  const std::int64_t ahead = order == OrderOfWork::kSerial   ? 0
                             : order == OrderOfWork::kOneF1B ? std::min(stages - stage - 1, micro_batches)
                                                             : micro_batches;
  for (std::int64_t i = 0; i < ahead; ++i) all.push_back({true, i});
  for (std::int64_t i = 0; i < micro_batches && order != OrderOfWork::kForwardOnly; ++i) {
    if (ahead + i < micro_batches) all.push_back({true, ahead + i});
    all.push_back({false, i});
  }
  return all;
}

/// How the messages of a job are recorded.
enum class MessageRecord : std::uint8_t {
  kHost,       ///< Gloo: a message counts as received when the wait for it ends
  kDevice,     ///< NCCL: a kernel each; the host runs far ahead
  kCoalesced,  ///< NCCL: a kernel for several calls, receives first, launched by none of them
};

/// Ranks that run a pipeline: times as messages that take no time and stages that do one thing at a time make them.
class PipelineJob {
 public:
  PipelineJob(int ranks, MessageRecord record) : record_(record), group_(add_ranks(timeline, ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      DeviceInfo device;
      device.process = ProcessIndex(rank);
      timeline.devices.push_back(device);
      StreamInfo stream;
      stream.device = DeviceIndex(rank);
      timeline.streams.push_back(stream);
    }
    free_ns_.assign(static_cast<std::size_t>(ranks), 0);
    host_ns_.assign(static_cast<std::size_t>(ranks), 0);
  }

  /// Per stage; of operations forward. Those back take twice that.
  std::vector<std::int64_t> forward_ns;

  /// A step of the chain `ranks`, which begins where that of each rank before ended. Gives the longest time of any.
  void step(std::int64_t number, const std::vector<int>& ranks, OrderOfWork order, std::int64_t micro_batches) {
    const auto count = static_cast<std::int64_t>(ranks.size());
    std::vector<std::vector<StageOperation>> operations;
    for (std::int64_t stage = 0; stage < count; ++stage)
      operations.push_back(operations_of(order, stage, count, micro_batches));
    std::vector<std::size_t> next(ranks.size(), 0);
    std::map<std::pair<std::int64_t, bool>, std::map<std::int64_t, std::int64_t>> left;  // stage, forward: when
    for (int rank : ranks) begin_ns_[rank] = record_ == MessageRecord::kHost ? free_ns_[at(rank)] : host_ns_[at(rank)];
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int64_t stage = 0; stage < count; ++stage)
        for (auto& i = next[static_cast<std::size_t>(stage)]; i < operations[static_cast<std::size_t>(stage)].size();
             ++i, moved = true)
          if (!run(ranks, stage, operations[static_cast<std::size_t>(stage)][i], left)) break;
    }
    for (int rank : ranks) {
      StepRow row;
      row.number = number;
      row.thread = ThreadIndex(rank);
      row.begin_ns = begin_ns_[rank];
      row.end_ns = record_ == MessageRecord::kHost ? free_ns_[at(rank)] : host_ns_[at(rank)];
      if (with_steps) timeline.steps.append(row);
    }
  }
  /// Of the stage's own, on a device.
  void work(int rank, std::int64_t begin_ns, std::int64_t end_ns) {
    if (!is_lost(rank) && record_ != MessageRecord::kHost) launch(rank, "gemm", begin_ns, end_ns);
  }
  /// One alone, with a rank of the same group.
  void message(int rank, int peer, CollectiveKind kind, std::int64_t begin_ns, std::int64_t end_ns) {
    add_message(rank, peer, kind, begin_ns, end_ns);
  }
  /// All ranks wait for each other, outside of steps.
  void barrier() { std::fill(free_ns_.begin(), free_ns_.end(), *std::max_element(free_ns_.begin(), free_ns_.end())); }
  void start_late(int rank, std::int64_t by_ns) { free_ns_[at(rank)] += by_ns; }
  Pipelines find() {
    timeline::join_collectives(timeline);
    return find_pipelines(timeline);
  }

  bool with_steps = true;
  std::vector<int> lost;  ///< ranks without recordings
  Timeline timeline;

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  bool is_lost(int rank) const { return std::find(lost.begin(), lost.end(), rank) != lost.end(); }

  bool run(const std::vector<int>& ranks, std::int64_t stage, const StageOperation& operation,
           std::map<std::pair<std::int64_t, bool>, std::map<std::int64_t, std::int64_t>>& left) {
    const auto count = static_cast<std::int64_t>(ranks.size());
    const std::int64_t from = operation.forward ? stage - 1 : stage + 1, to = operation.forward ? stage + 1 : stage - 1;
    const int rank = ranks[static_cast<std::size_t>(stage)];
    std::int64_t& now = free_ns_[at(rank)];
    if (from >= 0 && from < count) {
      const auto& of_neighbour = left[{from, operation.forward}];
      const auto found = of_neighbour.find(operation.micro_batch);
      if (found == of_neighbour.end()) return false;
      const std::int64_t arrived = std::max(now, found->second);
      add_message(rank, ranks[static_cast<std::size_t>(from)], CollectiveKind::kReceive, now, arrived);
      now = arrived;
    }
    const std::int64_t length = forward_ns[static_cast<std::size_t>(stage)] * (operation.forward ? 1 : 2);
    work(rank, now, now + length);
    now += length;
    left[{stage, operation.forward}][operation.micro_batch] = now;
    if (to >= 0 && to < count)
      add_message(rank, ranks[static_cast<std::size_t>(to)], CollectiveKind::kSend, now - 1, now - 1);
    return true;
  }

  void launch(int rank, const char* name, std::int64_t begin_ns, std::int64_t end_ns) {
    LaunchRow launch;
    launch.process = ProcessIndex(rank);
    launch.thread = ThreadIndex(rank);
    launch.time_ns = host_ns_[at(rank)]++;
    ActivityRow activity;
    activity.kind = ActivityKind::kKernel;
    activity.name = timeline.intern(name);
    activity.stream = StreamIndex(rank);
    activity.begin_ns = kDeviceLag_ns + begin_ns;
    activity.end_ns = kDeviceLag_ns + end_ns;
    activity.launch = timeline.launches.append(launch);
    timeline.activities.append(activity);
  }
  void add_message(int rank, int peer, CollectiveKind kind, std::int64_t begin_ns, std::int64_t end_ns) {
    if (is_lost(rank)) return;
    CollectiveRow row;
    row.kind = kind;
    row.process = ProcessIndex(rank);
    row.thread = ThreadIndex(rank);
    row.group = group_;
    row.peer = peer;
    if (record_ == MessageRecord::kHost) {
      row.begin_ns = row.end_ns = row.started_ns = begin_ns;
      row.completed_ns = end_ns;
    } else {
      row.begin_ns = host_ns_[at(rank)];
      if (record_ == MessageRecord::kDevice) launch(rank, "ncclDevKernel_SendRecv(...)", begin_ns, end_ns);
      row.end_ns = host_ns_[at(rank)];
      ++host_ns_[at(rank)];
    }
    timeline.collectives.append(row);
  }

  static constexpr std::int64_t kDeviceLag_ns = 1'000'000;
  MessageRecord record_;
  ProcessGroupIndex group_;
  std::vector<std::int64_t> free_ns_, host_ns_;  // by rank: when its work so far ends; the next call of its host
  std::map<int, std::int64_t> begin_ns_;
};

inline std::vector<int> ranks_up_to(int count) {
  std::vector<int> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(rank);
  return ranks;
}

}  // namespace rangefinder::testing
