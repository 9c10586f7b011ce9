// SPDX-License-Identifier: MIT
//
// Programs without a device, of the second part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/host_training.hpp"

namespace rangefinder::testing::corpus {
namespace {

/// What the main thread does before each phase, eight threads could.
Program serial_phases(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop;
  loop.serial_us = planted(0) ? 2'400 : 60;
  loop.phase_us = planted(0) ? 24'000 : 26'400;
  return run_threaded(seed, loop);
}

Program threads_wait_for_data(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop;
  loop.phases = 4;
  if (planted(0)) loop.data_us = 5'500;
  return run_threaded(seed, loop);
}

HostLoop rank_of(Meeting& meeting) {
  HostLoop loop;
  loop.meeting = &meeting;
  loop.layers = 12;
  loop.layer_us = 700;
  return loop;
}

std::vector<Program> two_hosts_at_end(std::uint64_t seed, Planted planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    HostLoop loop = rank_of(meeting);
    loop.overlapped = !planted(0);
    loop.parameters = 1'000'000;
    return run_on_host(seed * 1000 + 500 + static_cast<std::uint64_t>(rank), loop);
  });
}

std::vector<Program> slow_host(std::uint64_t seed, Planted planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    HostLoop loop = rank_of(meeting);
    loop.parameters = 200'000;
    if (planted(0) && rank == 6) loop.layer_us *= 1.4;
    return run_on_host(seed * 1000 + 500 + static_cast<std::uint64_t>(rank), loop);
  });
}

std::vector<Program> waits_and_reduces_at_end(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    HostLoop loop = rank_of(meeting);
    if (planted(0)) loop.data_us = 18'000;
    loop.overlapped = !planted(1);
    loop.parameters = 700'000;
    return run_on_host(seed * 1000 + 500 + static_cast<std::uint64_t>(rank), loop);
  });
}

}  // namespace

std::vector<AdviceCase> second_cpu_cases() {
  using R = AdviceRule;
  return {
      {"the main thread prepares each phase alone", {{R::kHostThreads}}, alone(serial_phases), {}},
      {"eight threads wait for data", {{R::kDataWait}}, alone(threads_wait_for_data), {}},
      {"2 Gloo ranks reduce gradients after the backward pass",
       {{R::kExposedCommunication}},
       two_hosts_at_end,
       {},
       true},
      {"one of 8 Gloo ranks is slow", {{R::kRankImbalance}}, slow_host, {}, true},
      {"4 Gloo ranks wait for data, and reduce after the backward pass",
       {{R::kDataWait}, {R::kExposedCommunication}},
       waits_and_reduces_at_end,
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
