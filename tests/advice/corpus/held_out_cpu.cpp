// SPDX-License-Identifier: MIT
//
// Programs without a device, of the half that rules are not made with.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/held_out_on_host.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

/// Each thread has as many rows as another, but the first ones are long: those of nodes with many neighbours.
std::vector<double> shares_of_equal_rows(std::size_t threads) {
  std::vector<double> shares;
  double sum = 0;
  for (std::size_t i = 0; i < threads; ++i) {
    shares.push_back(1 + 1.4 / static_cast<double>(1 + i));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

Program rows_of_a_sparse_matrix(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = sparse_solver();
  if (planted(0)) loop.shares = shares_of_equal_rows(20);
  return run_threaded(seed, loop);
}

/// numactl keeps the program on one of two sockets.
Program one_of_two_sockets(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = clustering();
  if (planted(0)) loop.shares = even_shares(16);
  return run_threaded(seed, loop);
}

Program sentences_come_late(std::uint64_t seed, Planted planted) {
  HostLoop loop = sentence_classifier();
  if (planted(0)) loop.data_us = 3'900;
  return run_on_host(seed, loop);
}

std::vector<Program> averages_while_all_wait(std::uint64_t seed, Planted planted) {
  return run_job(6, [=](int rank, Meeting& meeting) {
    return train_and_average(held_out_seed(seed, rank), meeting, !planted(0));
  });
}

/// One of the hosts has half as many processors.
std::vector<Program> one_small_host(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    HostLoop loop = sentence_classifier();
    loop.meeting = &meeting;
    loop.parameters = 210'000;
    if (planted(0) && rank == 0) loop.layer_us *= 1.9;
    return run_on_host(held_out_seed(seed, rank), loop);
  });
}

/// Centres are moved by the main thread alone, and chunks are read late.
Program moves_centres_alone(std::uint64_t seed, Planted planted) {
  ThreadedLoop loop = clustering();
  loop.serial_us = planted(0) ? 2'900 : 90;
  if (!planted(0)) loop.phase_us += 2'900;
  if (planted(1)) loop.data_us = 3'600;
  return run_threaded(seed, loop);
}

}  // namespace

std::vector<AdviceCase> held_out_cpu_cases() {
  using R = AdviceRule;
  return {
      {"threads have equal numbers of unequal rows", {{R::kHostThreads}}, alone(rows_of_a_sparse_matrix), {}},
      {"sixteen threads on two sockets of sixteen", {{R::kHostThreads}}, alone(one_of_two_sockets), {}},
      {"sentences come late on CPUs", {{R::kDataWait}}, alone(sentences_come_late), {}, true},
      {"6 Gloo ranks average their models, and wait", {{R::kExposedCommunication}}, averages_while_all_wait, {}, true},
      {"one of 4 Gloo ranks is on a small host", {{R::kRankImbalance}}, one_small_host, {}, true},
      {"the main thread moves centres, and chunks come late",
       {{R::kHostThreads}, {R::kDataWait}},
       alone(moves_centres_alone),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
