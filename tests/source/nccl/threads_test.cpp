// SPDX-License-Identifier: MIT
// Random programs on several threads: what they called is what is recorded.
#include "fake_nccl.hpp"
#include "fake_recorder.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
using detail::CollectivePhase;

namespace {

NcclTask random_task(std::mt19937_64& random, int version) {
  std::vector<NcclFunction> functions = {
      NcclFunction::kBroadcast, NcclFunction::kReduce, NcclFunction::kAllGather, NcclFunction::kReduceScatter,
      NcclFunction::kAllReduce, NcclFunction::kSend,   NcclFunction::kReceive};
  NcclTask task;
  task.function = functions[below(random, functions.size())];
  task.count = any_size(random, 32);
  task.datatype = static_cast<int>(below(random, 10));
  task.root = static_cast<int>(below(random, 4));
  task.algorithm = static_cast<int>(below(random, 7));
  task.protocol = static_cast<int>(below(random, 3));
  task.channels = 1 + static_cast<int>(below(random, 5));
  task.uses_network = random() % 2 == 0;
  task.by_copy_engines = version >= 6 && !task.is_point() && random() % 8 == 0;
  return task;
}

/// A launching thread: a communicator of its own, and what it has called in the order that NCCL tells of it.
struct Rank {
  std::unique_ptr<NcclCommunicator> communicator;
  std::vector<NcclTask> told;
  std::thread::id thread;
};

void run_rank(FakeNccl& fake, Rank& rank, std::uint64_t seed, int launches) {
  std::mt19937_64 random(seed);
  rank.thread = std::this_thread::get_id();
  for (int i = 0; i < launches; ++i) {
    std::vector<NcclTask> tasks(1 + below(random, 4));
    for (NcclTask& task : tasks) task = random_task(random, fake.version());
    fake.launch(*rank.communicator, tasks);
    const auto order = [](const NcclTask& task) { return task.by_copy_engines ? 2 : task.is_point() ? 1 : 0; };
    std::stable_sort(tasks.begin(), tasks.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
    rank.told.insert(rank.told.end(), tasks.begin(), tasks.end());
  }
}

/// How many children a plugin of this version is told of.
int children(int version, const NcclTask& task) {
  if (task.by_copy_engines) return 0;
  return version >= 3 || task.uses_network ? task.channels : 0;
}

void check_phases(int version, const NcclTask& task, const RecordedCollective& found, std::thread::id launching) {
  const int expected = children(version, task);
  REQUIRE(found.count(CollectivePhase::kReturned) == 1);
  REQUIRE(found.count(CollectivePhase::kStarted) == (expected > 0 ? 1 : 0));
  const int completed = found.count(CollectivePhase::kCompleted);
  if (expected == 0) REQUIRE(completed == 0);
  if (expected > 0 && version >= 4) REQUIRE(completed == 1);
  if (expected > 0 && version < 4) REQUIRE((completed >= 1 && completed <= expected));
  for (const NotedPhase& noted : found.phases)
    REQUIRE((noted.thread == launching) == (noted.phase == CollectivePhase::kReturned));
  // The last that is noted, the return aside, is the end; the first is the start.
  std::vector<CollectivePhase> below_host;
  for (const NotedPhase& noted : found.phases)
    if (noted.phase != CollectivePhase::kReturned) below_host.push_back(noted.phase);
  if (expected > 0) {
    REQUIRE(below_host.front() == CollectivePhase::kStarted);
    REQUIRE(below_host.back() == CollectivePhase::kCompleted);
  }
}

void check_rank(int version, const Rank& rank, const std::vector<RecordedCollective>& all) {
  std::vector<RecordedCollective> own;
  for (const RecordedCollective& found : all)
    if (found.thread == rank.thread) own.push_back(found);
  REQUIRE(own.size() == rank.told.size());
  std::int64_t number = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const NcclTask& task = rank.told[i];
    const bool counts_bytes =
        version < 5 && (task.function == NcclFunction::kAllGather || task.function == NcclFunction::kBroadcast);
    const bool in_bytes = counts_bytes || (task.datatype == 1 && (task.function == NcclFunction::kAllGather ||
                                                                  task.function == NcclFunction::kBroadcast));
    const auto count = static_cast<std::int64_t>(task.count * (counts_bytes ? nccl_datatype_bytes(task.datatype) : 1));
    const std::string dtype = in_bytes                             ? "ncclInt8"
                              : task.datatype == 1 && version == 1 ? "ncclUint8"
                              : task.datatype == 1                 ? ""
                                                                   : nccl_datatype_name(task.datatype);
    REQUIRE(own[i].name == nccl_function_name(task.function));
    REQUIRE(own[i].dtype == dtype);
    REQUIRE((task.function == NcclFunction::kReduceScatter ? own[i].elements_out : own[i].elements_in) == count);
    REQUIRE(own[i].number == (task.is_point() ? -1 : number++));
    REQUIRE(own[i].channels == (version >= 4 && !task.by_copy_engines ? task.channels : 0));
    const bool has_algorithm = !task.is_point();
    REQUIRE(own[i].algorithm == (task.by_copy_engines ? "COPY_ENGINE"
                                 : has_algorithm      ? nccl_algorithm_name(task.algorithm)
                                                      : ""));
    check_phases(version, task, own[i], rank.thread);
  }
}

/// One NCCL: so many launching threads, and two that make progress.
class Job {
 public:
  Job(int version, int ranks, std::uint64_t seed, int launches)
      : fake_(version), ranks_(static_cast<std::size_t>(ranks)) {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      ranks_[i].communicator = fake_.make("job", static_cast<std::uint64_t>(version) << 32 | i, 4, 1);
    for (std::size_t i = 0; i < 2; ++i) progress_.emplace_back([this, seed, i] { make_progress(seed + 1000 + i); });
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      launching_.emplace_back([this, seed, launches, i] { run_rank(fake_, ranks_[i], seed + i, launches); });
  }
  void finish() {
    for (std::thread& thread : launching_) thread.join();
    is_over_.store(true);
    for (std::thread& thread : progress_) thread.join();
    std::mt19937_64 random(1);
    fake_.progress(&random);
    for (Rank& rank : ranks_) fake_.finalize(*rank.communicator);
  }
  void check(const std::vector<RecordedCollective>& all) const {
    INFO("version " << fake_.version());
    for (const Rank& rank : ranks_) check_rank(fake_.version(), rank, all);
  }
  std::size_t told() const {
    std::size_t sum = 0;
    for (const Rank& rank : ranks_) sum += rank.told.size();
    return sum;
  }

 private:
  void make_progress(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!is_over_.load())
      if (fake_.progress(16, random) == 0) std::this_thread::yield();
  }

  FakeNccl fake_;
  std::vector<Rank> ranks_;
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> progress_, launching_;
};

}  // namespace

TEST_CASE("what random programs call on several threads is what is recorded", "[source][property]") {
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", "on");
  for (const std::uint64_t seed : property_seeds("nccl plugin", repeats(8))) {
    INFO("RANGEFINDER_SEED=" << seed);
    FakeRecorder recorder;
    std::vector<std::unique_ptr<Job>> jobs;  // of all versions at once
    for (int version = 1; version <= FakeNccl::kNewest; ++version)
      jobs.push_back(std::make_unique<Job>(version, 3, seed * 100 + static_cast<std::uint64_t>(version) * 10, 100));
    for (const auto& job : jobs) job->finish();
    const std::vector<RecordedCollective> all = recorder.collectives();
    std::size_t told = 0;
    for (const auto& job : jobs) {
      job->check(all);
      told += job->told();
    }
    REQUIRE(all.size() == told);
    CHECK(recorder.foreign_notes() == 0);
  }
}

TEST_CASE("communicators come and go while others work", "[source][property]") {
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", "on");
  for (const std::uint64_t seed : property_seeds("nccl communicators", repeats(8))) {
    INFO("RANGEFINDER_SEED=" << seed);
    FakeNccl fake(4);
    FakeRecorder recorder;
    std::atomic<bool> is_over{false};
    std::thread progress([&] {
      std::mt19937_64 random(seed);
      while (!is_over.load())
        if (fake.progress(16, random) == 0) std::this_thread::yield();
    });
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) {
      threads.emplace_back([&fake, seed, i] {
        std::mt19937_64 random(seed + i);
        for (int round = 0; round < 20; ++round) {
          const auto communicator = fake.make("short", seed + i);
          for (int k = 0; k < 10; ++k) fake.launch(*communicator, {random_task(random, 4)});
          fake.finalize(*communicator);  // with children to come
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    is_over.store(true);
    progress.join();
    fake.progress();
    const std::vector<RecordedCollective> all = recorder.collectives();
    REQUIRE(all.size() == 4 * 20 * 10);
    for (const RecordedCollective& found : all) {
      REQUIRE(found.count(CollectivePhase::kReturned) == 1);
      REQUIRE(found.count(CollectivePhase::kStarted) <= 1);
      REQUIRE(found.count(CollectivePhase::kCompleted) <= found.count(CollectivePhase::kStarted));
    }
    CHECK(recorder.foreign_notes() == 0);
  }
}
