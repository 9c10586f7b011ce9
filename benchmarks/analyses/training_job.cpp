// SPDX-License-Identifier: MIT
#include "analyses/training_job.hpp"

#include "analyses/job_texts.hpp"
#include "analyses/rank_work.hpp"
#include "timeline/collectives.hpp"
#include "timeline/finish.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

using namespace rangefinder;

constexpr std::uint32_t kMicroBatches = 2;
constexpr std::int64_t kStep_ns = 10'000'000;  // ranks begin their steps together; a step is done by then
constexpr std::int64_t kMessageElements = 4'194'304, kGradientElements = 3'145'728;
constexpr std::uint64_t kBatchBytes = 1u << 20;
constexpr std::int64_t kReading_ns = 100'000'000;

/// What the backward pass needs of an operator of the forward pass.
struct Saved {
  std::size_t op;
  std::int64_t sequence, forward_ns;
  std::uint64_t address;
};

class Rank {
 public:
  Rank(Timeline& timeline, const JobTexts& texts, std::uint32_t rank, std::uint32_t ranks)
      : work_(timeline, texts, rank, ranks), texts_(texts), timeline_(timeline), stage_(rank % 2) {
    messages_ = ProcessGroupIndex(2 + rank / 2);
    replicas_ = ProcessGroupIndex(stage_);
  }

  void run(std::uint64_t activities) {
    capture_graph();
    for (std::int64_t number = 0; work_.activities() < activities; ++number) {
      const std::int64_t begin_ns = (number + 1) * kStep_ns;
      work_.main.now_ns = std::max(work_.main.now_ns, begin_ns);
      work_.loader.now_ns = std::max(work_.loader.now_ns, begin_ns);
      step(number);
      work_.deliver();
    }
    read_sensors();
  }

 private:
  void step(std::int64_t number) {
    JobThread& main = work_.main;
    const RangeIndex range = work_.open(main, texts_.step);
    const std::int64_t begin_ns = timeline_.ranges.begin_ns[range];
    load_batch();
    saved_.resize(kMicroBatches);
    for (std::uint32_t batch = 0; batch < kMicroBatches; ++batch) forward(batch);
    for (std::uint32_t batch = 0; batch < kMicroBatches; ++batch) backward(batch);
    optimize();
    note_loss(number);
    work_.close(main, range);
    StepRow row;
    row.number = number;
    row.thread = main.index;
    row.begin_ns = begin_ns;
    row.end_ns = main.now_ns;
    row.items = 4096 * kMicroBatches;
    timeline_.steps.append(row);
  }

  void capture_graph() {
    const RangeIndex range = work_.open(work_.main, texts_.capture);
    for (std::uint32_t node = 0; node < kGraphNodes; ++node)
      nodes_.push_back(work_.launch(work_.main, {texts_.graph_kernels[node], 0, 5'000}));
    work_.close(work_.main, range);
    work_.synchronize(work_.main, kWorkStream);
  }

  void load_batch() {
    const RangeIndex fetch = work_.open(work_.loader, texts_.fetch);
    const std::uint64_t address = work_.allocate(work_.loader, kBatchBytes, true);
    work_.loader.now_ns += 400'000 + work_.jitter(50'000);
    work_.close(work_.loader, fetch);
    const RangeIndex data = work_.open(work_.main, texts_.data);
    work_.main.now_ns = std::max(work_.main.now_ns, work_.loader.now_ns);
    for (std::uint32_t batch = 0; batch < kMicroBatches; ++batch)
      work_.copy(work_.main, texts_.copy_in, 1, kBatchBytes / kMicroBatches, kCopyStream);
    work_.wait_for_stream(work_.main, kWorkStream, kCopyStream);
    work_.free(work_.main, address, kBatchBytes, true);
    work_.close(work_.main, data);
  }

  void forward(std::uint32_t batch) {
    JobThread& main = work_.main;
    const RangeIndex range = work_.open(main, texts_.forward);
    if (stage_ == 1) work_.communicate(main, CollectiveKind::kReceive, messages_, kMessageElements, 0);
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      const RangeIndex inside = work_.open(main, texts_.layers[layer]);
      count_memory_traffic(inside);
      for (std::size_t op = 0; op < texts_.operators.size(); ++op) saved_[batch].push_back(forward_operator(op));
      work_.close(main, inside);
    }
    if (stage_ == 0) work_.communicate(main, CollectiveKind::kSend, messages_, kMessageElements, 1);
    count_cpu(range);
    work_.close(main, range);
  }

  Saved forward_operator(std::size_t op) {
    JobThread& main = work_.main;
    const JobOperator& what = texts_.operators[op];
    const RangeIndex outer = work_.open(main, what.outer, RangeKind::kOperator);
    add_operator(outer, what, -1);
    const RangeIndex inner = work_.open(main, what.inner, RangeKind::kOperator);
    add_operator(inner, what, ++sequence_);
    const Saved saved{op, sequence_, main.now_ns, work_.allocate(main, what.output_bytes)};
    work_.launch(main, {what.kernel, what.detail, what.length_ns});
    work_.close(main, inner);
    work_.close(main, outer);
    return saved;
  }

  void backward(std::uint32_t batch) {
    JobThread &main = work_.main, &engine = work_.engine;
    const RangeIndex range = work_.open(main, texts_.backward);
    if (stage_ == 0) work_.communicate(main, CollectiveKind::kReceive, messages_, kMessageElements, 1);
    engine.now_ns = std::max(engine.now_ns, main.now_ns + 8'000);
    std::vector<Saved>& saved = saved_[batch];
    const bool is_last = batch + 1 == kMicroBatches;
    for (; !saved.empty(); saved.pop_back()) {
      backward_operator(saved.back());
      if (is_last && saved.back().op == 0)
        work_.communicate(engine, CollectiveKind::kAllReduce, replicas_, kGradientElements);
    }
    main.now_ns = std::max(main.now_ns, engine.now_ns + 6'000);
    if (stage_ == 1) work_.communicate(main, CollectiveKind::kSend, messages_, kMessageElements, 0);
    work_.close(main, range);
  }

  void backward_operator(const Saved& saved) {
    JobThread& engine = work_.engine;
    const JobOperator& what = texts_.operators[saved.op];
    const RangeIndex evaluate = work_.open(engine, what.evaluate, RangeKind::kOperator);
    const RangeIndex node = work_.open(engine, what.node, RangeKind::kOperator);
    const std::int64_t begin_ns = engine.now_ns;
    const RangeIndex called = work_.open(engine, what.back, RangeKind::kOperator);
    for (std::uint32_t i = 0; i < what.back_kernels; ++i)
      work_.launch(engine, {what.back_kernel, what.detail, what.length_ns});
    work_.close(engine, called);
    work_.close(engine, node);
    AutogradNodeRow row;
    row.thread = engine.index;
    row.begin_ns = begin_ns;
    row.end_ns = engine.now_ns;
    row.sequence = saved.sequence;
    row.forward_thread = work_.main.index;
    row.forward_ns = saved.forward_ns;
    row.name = what.node;
    row.range = node;
    timeline_.autograd_nodes.append(row);
    work_.free(engine, saved.address, what.output_bytes);
    work_.close(engine, evaluate);
  }

  void optimize() {
    const RangeIndex range = work_.open(work_.main, texts_.optimizer);
    work_.wait_for_stream(work_.main, kWorkStream, kCommunicationStream);
    work_.clear_memory(work_.main, 4u << 20);
    work_.launch_graph(work_.main, nodes_);
    work_.close(work_.main, range);
  }

  /// What programs do at the end of a step, and what the profiler itself does now and then.
  void note_loss(std::int64_t number) {
    JobThread& main = work_.main;
    const RangeIndex range = work_.open(main, texts_.loss);
    work_.copy(main, texts_.copy_out, 2, 4, kWorkStream);
    work_.synchronize(main, kWorkStream);
    work_.close(main, range);
    timeline_.marks.append({texts_.loss, StringId::kEmpty, main.index, main.now_ns, -1});
    add_counter(texts_.loss, 1'000'000 - number);
    add_counter(texts_.allocated, std::int64_t{30} << 30);
    add_counter(texts_.reserved, std::int64_t{40} << 30);
    if (number % 16 != 0) return;
    CudaAllocationRow allocation;
    allocation.process = work_.process;
    allocation.time_ns = main.now_ns + 400;
    allocation.memory = 3;
    allocation.device = work_.device;
    allocation.address = 0x7f00'0000'0000 + static_cast<std::uint64_t>(number) * 0x20'0000;
    allocation.bytes = 2u << 20;
    allocation.correlation = work_.call(main, texts_.malloc, 90'000);
    timeline_.cuda_allocations.append(allocation);
    OverheadRow overhead;
    overhead.name = texts_.flush;
    overhead.thread = main.index;
    overhead.begin_ns = main.now_ns;
    overhead.end_ns = main.now_ns += 12'000;
    timeline_.overheads.append(overhead);
  }

  void add_counter(StringId name, std::int64_t value) {
    CounterRow row;
    row.name = name;
    row.thread = work_.main.index;
    row.time_ns = work_.main.now_ns;
    row.integer = value;
    row.number = static_cast<double>(value);
    row.is_integer = true;
    timeline_.counters.append(row);
  }
  void add_operator(RangeIndex range, const JobOperator& what, std::int64_t sequence) {
    OperatorRow row;
    row.range = range;
    row.sequence = sequence;
    row.shapes = what.shapes;
    row.types = what.types;
    row.values = what.values;
    timeline_.operators.append(row);
  }
  void count_memory_traffic(RangeIndex range) {
    timeline_.range_metrics.append({range, work_.device, texts_.dram_read, 3.2e8});
    timeline_.range_metrics.append({range, work_.device, texts_.dram_write, 2.1e8});
  }
  void count_cpu(RangeIndex range) {
    CpuCounterRow row;
    row.range = range;
    row.counts = {400'000, 1'200'000, 2'000'000, 40'000, 3'000, 2'000, 0, 0, 0};
    timeline_.cpu_counters.append(row);
  }
  void sample_counter(std::int64_t begin_ns) {
    PmSampleRow row;
    row.device = work_.device;
    row.metric = texts_.sm_active;
    row.begin_ns = begin_ns;
    row.end_ns = begin_ns + kReading_ns;
    row.value = 0.25;
    timeline_.pm_samples.append(row);
  }
  void read_sensors() {
    for (std::int64_t time_ns = kStep_ns; time_ns < work_.device_free_ns(); time_ns += kReading_ns) {
      SensorSampleRow row;
      row.device = work_.device;
      row.time_ns = time_ns;
      row.present = kHasPower | kHasSmClock | kHasThrottleReasons;
      row.power_mw = 520'000 + static_cast<std::uint32_t>(work_.jitter(60'000));
      row.sm_clock_mhz = 1'755;
      timeline_.sensor_samples.append(row);
      sample_counter(time_ns);
    }
  }

  RankWork work_;
  const JobTexts& texts_;
  Timeline& timeline_;
  std::uint32_t stage_;
  ProcessGroupIndex messages_{}, replicas_{};
  std::int64_t sequence_ = 0;
  std::vector<LaunchIndex> nodes_;
  std::vector<std::vector<Saved>> saved_;  // by micro-batch
};

/// Groups 0 and 1 are the replicas of the two stages; then comes a pipeline for each pair of ranks.
void add_groups(Timeline& timeline, std::uint32_t ranks) {
  std::vector<std::vector<std::int64_t>> members(2 + ranks / 2);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    members[rank % 2].push_back(rank);
    members[2 + rank / 2].push_back(rank);
  }
  for (const std::vector<std::int64_t>& of_group : members) {
    ProcessGroupInfo group;
    group.name = std::to_string(timeline.process_groups.size());
    group.ranks = of_group;
    group.size = static_cast<std::int32_t>(of_group.size());
    timeline.process_groups.push_back(group);
  }
}

void add_copy_details(Timeline& timeline) {
  CopyDetail to_device, to_host, memset;
  to_device.copy_kind = 1, to_device.source_memory = 2, to_device.target_memory = 3, to_device.asynchronous = true;
  to_host.copy_kind = 2, to_host.source_memory = 3, to_host.target_memory = 1, to_host.asynchronous = true;
  memset.target_memory = 3;
  timeline.copy_details = {to_device, to_host, memset};
}

}  // namespace

Timeline make_training_job(std::uint64_t activities, std::uint32_t ranks) {
  Timeline timeline;
  const JobTexts texts(timeline);
  add_groups(timeline, ranks);
  add_copy_details(timeline);
  timeline.activities.reserve(activities + activities / 8);
  timeline.launches.reserve(activities);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) Rank(timeline, texts, rank, ranks).run(activities / ranks);
  timeline::join_launches(timeline);
  timeline::join_collectives(timeline);
  timeline::measure_extent(timeline);
  return timeline;
}

}  // namespace bench
