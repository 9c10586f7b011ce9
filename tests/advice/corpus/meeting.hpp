// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/simulation.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rangefinder::testing::corpus {

/// Where the ranks of a job learn when the others came: each is simulated by a thread of its own, which waits there for
/// the others. Times are simulated, so that the result is the same every time.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks) {}
  int ranks() const noexcept { return ranks_; }

  /// When the collective is done, if this rank comes at `come_ns` and it takes that long once all are there.
  std::int64_t meet(std::size_t collective, std::int64_t come_ns, std::int64_t length_ns) {
    std::unique_lock lock(mutex_);
    if (met_.size() <= collective) met_.resize(collective + 1);
    met_[collective].last_ns = std::max(met_[collective].last_ns, come_ns);
    met_[collective].length_ns = std::max(met_[collective].length_ns, length_ns);
    if (++met_[collective].ranks == ranks_) changed_.notify_all();
    changed_.wait(lock, [&] { return met_[collective].ranks == ranks_; });
    return met_[collective].last_ns + met_[collective].length_ns;
  }

 private:
  struct Met {
    int ranks = 0;
    std::int64_t last_ns = 0, length_ns = 0;
  };
  int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Met> met_;
};

/// The job of so many ranks, each of which does what `rank_does` says.
inline std::vector<Program> run_job(int ranks, const std::function<Program(int rank, Meeting&)>& rank_does) {
  Meeting meeting(ranks);
  std::vector<Program> job(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  threads.reserve(job.size());
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Program& made = job[static_cast<std::size_t>(rank)];
      made = rank_does(rank, meeting);
      made.rank = rank;
      made.world_size = ranks;
    });
  for (std::thread& thread : threads) thread.join();
  return job;
}

ProgramCollective describe_collective(CollectiveKind kind, std::int64_t elements, const char* dtype, int ranks);
/// From when the last rank is there, as NCCL over NVLink or Gloo over a local network takes it.
double collective_us(const ProgramCollective& collective, int ranks, bool on_device);
std::string nccl_kernel_name(CollectiveKind kind);
KernelDetail kernel_detail(const Kernel& kernel);

}  // namespace rangefinder::testing::corpus
