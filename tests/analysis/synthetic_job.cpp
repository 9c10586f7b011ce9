// SPDX-License-Identifier: MIT
#include "analysis/synthetic_job.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace rangefinder::testing {
namespace {

struct Work {
  const char* name;
  double us;
  bool gemm;
};
constexpr Work kCopyIn = {"Memcpy HtoD", 200, false};
constexpr Work kForward[] = {{"ampere_sgemm_128x64_tn", 1800, true},
                             {"flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", 1200, false},
                             {"vectorized_elementwise_kernel<4, GeluFunctor>", 500, false},
                             {"ampere_sgemm_128x128_nn", 1900, true},
                             {"vectorized_layer_norm_kernel<float>", 400, false}};
constexpr Work kBackward[] = {{"ampere_sgemm_128x64_nt", 2400, true},
                              {"flash_bwd_dq_dk_dv_loop_kernel<Flash_bwd_kernel_traits<64>>", 1900, false},
                              {"vectorized_elementwise_kernel<4, GeluBackward>", 700, false},
                              {"ampere_sgemm_64x64_nt", 2300, true},
                              {"cuComputeGradInput_layer_norm<float>", 500, false},
                              {"ampere_sgemm_128x32_nt", 1700, true}};
constexpr Work kOptimizer = {"multi_tensor_apply_kernel<AdamFunctor>", 700, false};
constexpr double kDataUs = 300, kHostUs = 150;
constexpr int kCollectives = 3;
constexpr double kCollectiveUs = 900;
constexpr double kLaunchUs = 5;
constexpr double kStepUs = 18'000;
/// Of that, what the slow rank's cause takes.
constexpr double kGemmUs = 10'100, kKernelUs = 16'000;

struct Done {
  double begin_us = 0;
  double end_us = 0;
};

/// What a rank did in a step, in true time.
struct StepOfRank {
  double begin_us = 0, data_end_us = 0, forward_end_us = 0, backward_end_us = 0, end_us = 0;
  std::vector<Done> work;  // copy, forward, backward, optimizer
  Done collectives[kCollectives];
};

class JobMaker {
 public:
  explicit JobMaker(const SyntheticJob& job) : job_(job), random_(job.seed) {}

  Timeline make() {
    run();
    add_places();
    for (int rank = 0; rank < job_.ranks; ++rank) write_rank(rank);
    return std::move(timeline_);
  }

 private:
  double normal(double deviation) { return std::normal_distribution<double>(0, deviation)(random_); }
  double uniform(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }

  // ---- what happens, in true time
  void run() {
    const auto ranks = static_cast<std::size_t>(job_.ranks);
    std::vector<double> speed(ranks), now(ranks, 0);
    for (double& one : speed) one = std::exp(normal(job_.rank_noise));
    steps_.assign(ranks, {});
    for (int step = 0; step < job_.steps; ++step) {
      const double common = std::exp(normal(job_.step_noise)) * (step == 0 ? 2 : 1);
      for (std::size_t rank = 0; rank < ranks; ++rank)
        steps_[rank].push_back(compute(static_cast<int>(rank), step, now[rank], common * speed[rank]));
      for (int i = 0; i < kCollectives; ++i) communicate(step, i);
      for (std::size_t rank = 0; rank < ranks; ++rank) now[rank] = finish(steps_[rank].back(), common * speed[rank]);
    }
  }
  bool is_slow(int rank, int step) const {
    return rank == job_.slow_rank && step >= job_.first_slow_step && step % job_.every == 0 &&
           job_.planted != Planted::kNothing;
  }
  StepOfRank compute(int rank, int step, double now_us, double scale) {
    StepOfRank one;
    const bool slow = is_slow(rank, step);
    const double extra_us = job_.slowdown * kStepUs;
    const auto extra_if = [&](Planted what) { return slow && job_.planted == what ? extra_us : 0; };
    const auto noise = [&] { return scale * std::exp(normal(job_.work_noise)); };
    one.begin_us = now_us;
    one.data_end_us = now_us + kDataUs * noise() + extra_if(Planted::kInput);
    double at_us = one.data_end_us + kHostUs * noise() + extra_if(Planted::kHost);
    if (uniform(0, 1) < job_.spikes) at_us += uniform(0.2, 0.5) * kStepUs;
    const auto work = [&](const Work& what) {
      double us = what.us * noise();
      if (what.gemm) us *= 1 + extra_if(Planted::kGemm) / kGemmUs;
      us *= 1 + extra_if(Planted::kDevice) / kKernelUs;
      one.work.push_back({at_us, at_us + us});
      at_us += us;
    };
    work(kCopyIn);
    for (const Work& what : kForward) work(what);
    one.forward_end_us = at_us;
    for (const Work& what : kBackward) work(what);
    one.backward_end_us = at_us;
    // The gradients of each third of the backward pass are reduced as soon as they are there, or all at its end.
    for (int i = 0; i < kCollectives; ++i) {
      const bool at_end = job_.in_two_levels || !job_.on_device;
      const std::size_t last = std::size(kForward) + 2 + 2 * static_cast<std::size_t>(i);
      one.collectives[i].begin_us = at_end ? at_us : one.work[last].end_us;
    }
    return one;
  }
  /// The ranks of one group leave together, when the last one has come and the data has passed.
  void communicate(int step, int which) {
    const int local = ranks_of_host();
    for (int first = 0; first < job_.ranks; ++first) {
      const std::vector<int> members = members_of(first, which, local);
      if (members.front() != first) continue;
      double come_us = 0;
      bool slow = false;
      for (const int rank : members) {
        Done& one = steps_[static_cast<std::size_t>(rank)].back().collectives[which];
        if (which > 0)
          one.begin_us =
              std::max(one.begin_us, steps_[static_cast<std::size_t>(rank)].back().collectives[which - 1].end_us);
        come_us = std::max(come_us, one.begin_us);
        slow = slow || (job_.planted == Planted::kLink && is_slow(rank, step));
      }
      double us = kCollectiveUs * std::exp(normal(job_.link_noise));
      if (slow) us += job_.slowdown * kStepUs / kCollectives;
      for (const int rank : members)
        steps_[static_cast<std::size_t>(rank)].back().collectives[which].end_us = come_us + us + uniform(0, 5);
    }
  }
  int ranks_of_host() const { return std::min(job_.ranks_per_host, std::max(2, job_.ranks / 4)); }
  std::vector<int> members_of(int rank, int which, int local) const {
    std::vector<int> members;
    const bool across = which == 1;
    for (int other = 0; other < job_.ranks; ++other)
      if (!job_.in_two_levels || (across ? other % local == rank % local : other / local == rank / local))
        members.push_back(other);
    return members;
  }
  double finish(StepOfRank& one, double scale) {
    double at_us = std::max(one.collectives[kCollectives - 1].end_us, one.backward_end_us);
    if (!job_.with_collectives) at_us = one.backward_end_us;
    const double us = kOptimizer.us * scale * std::exp(normal(job_.work_noise));
    one.work.push_back({at_us, at_us + us});
    one.end_us = at_us + us + 20;
    return one.end_us;
  }

  // ---- its recording
  void add_places() {
    const int hosts = (job_.ranks + job_.ranks_per_host - 1) / job_.ranks_per_host;
    for (int host = 0; host < hosts; ++host) {
      HostInfo info;
      info.name = "node" + std::to_string(host);
      info.error_ns = host == 0 ? 0 : 2 * job_.clock_offset_ns + 100'000;
      timeline_.hosts.push_back(info);
      offset_us_.push_back(host == 0 ? 0 : uniform(-1, 1) * static_cast<double>(job_.clock_offset_ns) / 1000);
      drift_.push_back(host == 0 ? 0 : uniform(-1, 1) * job_.clock_drift);
    }
    for (int rank = 0; rank < job_.ranks; ++rank) {
      ProcessInfo process;
      process.pid = 1000 + rank;
      process.rank = rank;
      process.world_size = job_.ranks;
      process.clock = static_cast<std::uint32_t>(rank / job_.ranks_per_host);
      process.host = timeline_.hosts[process.clock].name;
      timeline_.processes.push_back(process);
      ThreadInfo thread;
      thread.process = ProcessIndex(rank);
      thread.tid = 1;
      timeline_.threads.push_back(thread);
      if (!job_.on_device) continue;
      DeviceInfo device;
      device.process = ProcessIndex(rank);
      timeline_.devices.push_back(device);
      for (const std::int64_t id : {7, 20}) {
        StreamInfo stream;
        stream.device = DeviceIndex(rank);
        stream.context = 1;
        stream.id = id;
        timeline_.streams.push_back(stream);
      }
    }
    add_groups();
  }
  void add_groups() {
    const int local = ranks_of_host();
    group_of_.assign(static_cast<std::size_t>(job_.ranks) * 2, kNone);
    for (int across = 0; across < (job_.in_two_levels ? 2 : 1); ++across) {
      for (int rank = 0; rank < job_.ranks; ++rank) {
        const std::vector<int> members = members_of(rank, across, local);
        if (members.front() != rank) continue;
        ProcessGroupInfo group;
        group.name = std::to_string(timeline_.process_groups.size());
        group.description = !job_.in_two_levels ? "default_pg" : across != 0 ? "replicate" : "shard";
        group.size = static_cast<std::int32_t>(members.size());
        for (const int member : members) {
          group.ranks.push_back(member);
          group_of_[static_cast<std::size_t>(member) * 2 + static_cast<std::size_t>(across)] =
              ProcessGroupIndex(timeline_.process_groups.size());
        }
        timeline_.process_groups.push_back(group);
      }
    }
  }
  std::int64_t clock_ns(int rank, double us) const {
    const auto host = static_cast<std::size_t>(rank / job_.ranks_per_host);
    return std::llround((us * (1 + drift_[host]) + offset_us_[host]) * 1000) + 1'000'000'000;
  }

  void write_rank(int rank) {
    std::int64_t numbers[2] = {0, 0};
    for (int step = 0; step < job_.steps; ++step) {
      const StepOfRank& one = steps_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)];
      timeline_.steps.append({.number = step,
                              .thread = ThreadIndex(rank),
                              .begin_ns = clock_ns(rank, one.begin_us),
                              .end_ns = clock_ns(rank, one.end_us)});
      write_ranges(rank, one);
      if (job_.on_device) write_kernels(rank, one);
      if (job_.with_collectives)
        for (int i = 0; i < kCollectives; ++i) write_collective(rank, one, i, numbers);
    }
  }
  void write_ranges(int rank, const StepOfRank& one) {
    const auto range = [&](const char* name, double begin_us, double end_us) {
      timeline_.ranges.append({.name = timeline_.intern(name),
                               .thread = ThreadIndex(rank),
                               .end_thread = ThreadIndex(rank),
                               .begin_ns = clock_ns(rank, begin_us),
                               .end_ns = clock_ns(rank, end_us)});
    };
    const double begun_us = one.work.front().begin_us;
    range("train", one.begin_us, one.end_us);
    range("data", one.begin_us, one.data_end_us);
    range("tokenize", one.data_end_us, begun_us);
    range("forward", begun_us, job_.on_device ? begun_us + 50 : one.forward_end_us);
  }
  void add_activity(int rank, bool communication, const char* name, const Done& done, CollectiveIndex collective) {
    const bool copy = name == kCopyIn.name;
    const LaunchIndex launch = timeline_.launches.append({.process = ProcessIndex(rank),
                                                          .thread = ThreadIndex(rank),
                                                          .time_ns = clock_ns(rank, done.begin_us - kLaunchUs),
                                                          .source = LaunchSource::kCallback});
    timeline_.activities.append({.kind = copy ? ActivityKind::kMemcpy : ActivityKind::kKernel,
                                 .name = timeline_.intern(name),
                                 .stream = StreamIndex(2 * rank + (communication ? 1 : 0)),
                                 .begin_ns = clock_ns(rank, done.begin_us),
                                 .end_ns = clock_ns(rank, done.end_us),
                                 .launch = launch,
                                 .collective = collective});
  }
  void write_kernels(int rank, const StepOfRank& one) {
    std::size_t next = 0;
    const auto add = [&](const Work& what) { add_activity(rank, false, what.name, one.work[next++], kNone); };
    add(kCopyIn);
    for (const Work& what : kForward) add(what);
    for (const Work& what : kBackward) add(what);
    add(kOptimizer);
  }
  void write_collective(int rank, const StepOfRank& one, int which, std::int64_t* numbers) {
    const Done& done = one.collectives[which];
    const std::size_t across = job_.in_two_levels && which == 1 ? 1 : 0;
    CollectiveRow row;
    row.kind = !job_.in_two_levels ? CollectiveKind::kAllReduce
               : which == 0        ? CollectiveKind::kReduceScatter
               : which == 1        ? CollectiveKind::kAllReduce
                                   : CollectiveKind::kAllGather;
    row.process = ProcessIndex(rank);
    row.thread = ThreadIndex(rank);
    row.group = ProcessGroupIndex(group_of_[static_cast<std::size_t>(rank) * 2 + across]);
    row.number = numbers[across]++;
    row.elements_in = row.elements_out = 1'000'000;
    row.dtype = timeline_.intern("Float");
    if (job_.on_device) {
      // The call comes first: in the middle of the step for all of them, since the host runs ahead.
      row.begin_ns = clock_ns(rank, one.begin_us + 400 + 50 * which);
      row.end_ns = row.begin_ns + 20'000;
    } else {
      row.begin_ns = clock_ns(rank, one.backward_end_us + which);
      row.end_ns = row.begin_ns + 500;
      row.started_ns = clock_ns(rank, done.begin_us);
      row.completed_ns = clock_ns(rank, done.end_us);
      row.wait_thread = row.thread;
      row.wait_begin_ns =
          clock_ns(rank, which == 0 ? one.backward_end_us + kCollectives : one.collectives[which - 1].end_us);
      row.wait_end_ns = row.completed_ns;
    }
    const CollectiveIndex collective(timeline_.collectives.size());
    timeline_.collectives.append(row);
    const char* const kernels[] = {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL",
                                   "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllGather_RING_LL"};
    if (job_.on_device) add_activity(rank, true, kernels[job_.in_two_levels ? which : 1], done, collective);
  }

  const SyntheticJob& job_;
  std::mt19937_64 random_;
  std::vector<std::vector<StepOfRank>> steps_;  // by rank
  std::vector<double> offset_us_, drift_;       // by host
  std::vector<std::uint32_t> group_of_;         // by rank, then level
  Timeline timeline_;
};

}  // namespace

Timeline make_job(const SyntheticJob& job) { return JobMaker(job).make(); }

}  // namespace rangefinder::testing
