// SPDX-License-Identifier: MIT
//
// Programs without a device, of the fourth part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/fourth_on_host.hpp"

#include <vector>

namespace rangefinder::testing::corpus {
namespace {

/// The rows of a triangle in equal blocks: the last thread's rows are the longest.
std::vector<double> shares_of_a_triangle(int threads) {
  std::vector<double> shares;
  for (int i = 0; i < threads; ++i) shares.push_back((2.0 * i + 1) / (threads * threads));
  return shares;
}

Program rows_of_a_triangle(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = factorization_loop();
  if (planted(0)) loop.shares = shares_of_a_triangle(12);
  return run_threaded(seed, loop);
}

/// A variable of the environment says ten threads; the machine has sixteen.
Program ten_of_sixteen_threads(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = pricing_loop();
  if (planted(0)) loop.shares = std::vector<double>(10, 0.1);
  return run_threaded(seed, loop);
}

/// Paths are drawn by the main thread, instead of by all.
Program draws_alone(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = pricing_loop();
  loop.serial_us = planted(0) ? 1'350 : 40;
  if (!planted(0)) loop.phase_us += 1'350;
  return run_threaded(seed, loop);
}

Program prices_come_late(std::uint64_t seed, Planted planted) {
  HostLoop loop = ranking_loop();
  if (planted(0)) loop.data_us = 6'800;
  return run_on_host(seed, loop);
}

/// Boosted trees: each histogram is summed up before the next columns are counted.
std::vector<Program> sums_each_histogram(std::uint64_t seed, Planted planted) {
  return run_job(
      3, [=](int rank, Meeting& meeting) { return boost_trees(host_job_seed(seed, rank), meeting, !planted(0)); });
}

std::vector<Program> one_of_five_rankers(std::uint64_t seed, Planted planted) {
  return run_job(5, [=](int rank, Meeting& meeting) {
    HostLoop loop = ranking_loop();
    loop.meeting = &meeting;
    loop.parameters = 120'000;
    if (planted(0) && rank == 3) loop.layer_us *= 1.55;
    return run_on_host(host_job_seed(seed, rank), loop);
  });
}

/// The factors come late from a disk, and are scaled by the main thread.
Program late_factors_scaled_alone(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = factorization_loop();
  if (planted(0)) loop.data_us = 11'000;
  loop.serial_us = planted(1) ? 1'100 : 50;
  if (!planted(1)) loop.phase_us += 1'100;
  return run_threaded(seed, loop);
}

/// Texts are read late, and gradients are reduced when all of them are there.
std::vector<Program> late_texts_reduced_at_end(std::uint64_t seed, Planted planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    HostLoop loop = ranking_loop();
    loop.meeting = &meeting;
    loop.parameters = 1'300'000;
    loop.overlapped = !planted(0);
    if (planted(1)) loop.data_us = 4'400;
    return run_on_host(host_job_seed(seed, rank), loop);
  });
}

}  // namespace

std::vector<AdviceCase> fourth_cpu_cases() {
  using R = AdviceRule;
  return {
      {"twelve threads share the rows of a triangle", {{R::kHostThreads}}, alone(rows_of_a_triangle), {}},
      {"ten threads on sixteen processors", {{R::kHostThreads}}, alone(ten_of_sixteen_threads), {}},
      {"the main thread draws for all", {{R::kHostThreads}}, alone(draws_alone), {}},
      {"prices come late on CPUs", {{R::kDataWait}}, alone(prices_come_late), {}, true},
      {"3 Gloo ranks sum up each histogram, and wait", {{R::kExposedCommunication}}, sums_each_histogram, {}, true},
      {"one of 5 Gloo ranks is slow", {{R::kRankImbalance}}, one_of_five_rankers, {}, true},
      {"factors come late, and the main thread scales them",
       {{R::kDataWait}, {R::kHostThreads}},
       alone(late_factors_scaled_alone),
       {}},
      {"2 Gloo ranks reduce when all is computed, and texts come late",
       {{R::kExposedCommunication}, {R::kDataWait}},
       late_texts_reduced_at_end,
       {},
       true},
  };
}

}  // namespace rangefinder::testing::corpus
