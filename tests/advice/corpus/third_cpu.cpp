// SPDX-License-Identifier: MIT
//
// Programs without a device, of the third part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/third_jobs.hpp"
#include "advice/corpus/third_on_host.hpp"

#include <vector>

namespace rangefinder::testing::corpus {
namespace {

/// The pool was made with five threads, on a machine of eight.
Program five_of_eight_threads(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = render_loop();
  if (planted(0)) loop.shares = std::vector<double>(5, 0.2);
  return run_threaded(seed, loop);
}

/// What is drawn is sorted by the main thread, instead of by all.
Program sorts_alone(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = render_loop();
  loop.serial_us = planted(0) ? 1'700 : 50;
  if (!planted(0)) loop.phase_us += 1'700;
  return run_threaded(seed, loop);
}

Program minibatches_come_late(std::uint64_t seed, Planted planted) {
  HostLoop loop = minibatch_loop();
  loop.layers = 10;
  loop.layer_us = 620;
  if (planted(0)) loop.data_us = 5'200;
  return run_on_host(seed, loop);
}

HostLoop federated_rank(Meeting& meeting) {
  HostLoop loop = minibatch_loop();
  loop.meeting = &meeting;
  loop.layers = 9;
  loop.layer_us = 1'100;
  loop.parameters = 250'000;
  return loop;
}

std::vector<Program> six_hosts_at_end(std::uint64_t seed, Planted planted) {
  return run_job(6, [=](int rank, Meeting& meeting) {
    HostLoop loop = federated_rank(meeting);
    loop.overlapped = !planted(0);
    loop.parameters = 900'000;
    return run_on_host(third_seed(seed, rank), loop);
  });
}

std::vector<Program> one_of_three_hosts(std::uint64_t seed, Planted planted) {
  return run_job(3, [=](int rank, Meeting& meeting) {
    HostLoop loop = federated_rank(meeting);
    if (planted(0) && rank == 0) loop.layer_us *= 1.25;
    return run_on_host(third_seed(seed, rank), loop);
  });
}

std::vector<Program> slow_host_and_late_batches(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    HostLoop loop = federated_rank(meeting);
    if (planted(0) && rank == 1) loop.layer_us *= 1.45;
    if (planted(1)) loop.data_us = 6'500;
    return run_on_host(third_seed(seed, rank), loop);
  });
}

}  // namespace

std::vector<AdviceCase> third_cpu_cases() {
  using R = AdviceRule;
  return {
      {"five threads on eight processors", {{R::kHostThreads}}, alone(five_of_eight_threads), {}},
      {"the main thread sorts for all", {{R::kHostThreads}}, alone(sorts_alone), {}},
      {"minibatches come late on CPUs", {{R::kDataWait}}, alone(minibatches_come_late), {}, true},
      {"6 Gloo ranks reduce when all is computed", {{R::kExposedCommunication}}, six_hosts_at_end, {}, true},
      {"one of 3 Gloo ranks is slow", {{R::kRankImbalance}}, one_of_three_hosts, {}, true},
      {"one of 4 Gloo ranks is slow, and batches come late",
       {{R::kRankImbalance}, {R::kDataWait}},
       slow_host_and_late_batches,
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
