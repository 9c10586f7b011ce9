// SPDX-License-Identifier: MIT
//
// Programs without a device.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/host_training.hpp"

namespace rangefinder::testing::corpus {
namespace {

/// The first of eight threads gets the cells of the boundary too.
const std::vector<double> kUneven{0.35, 0.093, 0.093, 0.093, 0.093, 0.093, 0.093, 0.092};

Program uneven_threads(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop;
  if (planted(0)) loop.shares = kUneven;
  return run_threaded(seed, loop);
}

Program loader_of_host(std::uint64_t seed, Planted planted) {
  HostLoop loop;
  if (planted(0)) loop.data_us = 9'000;
  return run_on_host(seed, loop);
}

std::vector<Program> gloo_at_end(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    HostLoop loop;
    loop.meeting = &meeting;
    loop.overlapped = !planted(0);
    loop.parameters = 1'600'000;
    return run_on_host(seed * 1000 + static_cast<std::uint64_t>(rank), loop);
  });
}

std::vector<Program> gloo_slow_rank(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    HostLoop loop;
    loop.meeting = &meeting;
    if (planted(0) && rank == 2) loop.layer_us *= 1.3;
    return run_on_host(seed * 1000 + static_cast<std::uint64_t>(rank), loop);
  });
}

Program waits_with_uneven_threads(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop;
  if (planted(0)) loop.shares = kUneven;
  if (planted(1)) loop.data_us = 4'000;
  return run_threaded(seed, loop);
}

/// The pool has been made with so few threads for a smaller machine.
Program three_of_eight_threads(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop;
  if (planted(0)) loop.shares = std::vector<double>(3, 1.0 / 3);
  return run_threaded(seed, loop);
}

/// The last thread gets what is left over.
Program last_gets_the_rest(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop;
  if (planted(0)) loop.shares = {0.121, 0.121, 0.121, 0.121, 0.121, 0.121, 0.121, 0.153};
  return run_threaded(seed, loop);
}

/// Its name says what it gets, but no word of it stands alone.
Program fetches_examples(std::uint64_t seed, Planted planted) {
  HostLoop loop;
  loop.names.data = "fetch_next_examples";
  if (planted(0)) loop.data_us = 4'000;
  return run_on_host(seed, loop);
}

}  // namespace

std::vector<AdviceCase> visible_cpu_cases() {
  using R = AdviceRule;
  return {
      {"one of 8 threads has most of the work", {{R::kHostThreads}}, alone(uneven_threads), {}},
      {"training on CPUs waits for its batches", {{R::kDataWait}}, alone(loader_of_host), {}, true},
      {"4 Gloo ranks reduce gradients after the backward pass", {{R::kExposedCommunication}}, gloo_at_end, {}},
      {"one of 4 Gloo ranks is slow", {{R::kRankImbalance}}, gloo_slow_rank, {}, true},
      {"uneven threads, and a wait for data",
       {{R::kHostThreads}, {R::kDataWait}},
       alone(waits_with_uneven_threads),
       {}},
      {"three threads on eight processors", {{R::kHostThreads}}, alone(three_of_eight_threads), {}},
      {"the last thread gets the rest", {{R::kHostThreads}}, alone(last_gets_the_rest), {}},
      {"examples are fetched late", {{R::kDataWait}}, alone(fetches_examples), {}, true},
  };
}

}  // namespace rangefinder::testing::corpus
