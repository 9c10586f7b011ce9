// SPDX-License-Identifier: MIT
// Threads over a large array: memory that one thread has touched first, all of it on that thread's node, and threads
// that run where the system puts them; and threads that are each pinned to a processor and touch first what they work
// on, so that it is on their own node.
#include "common/estimates.hpp"
#include "common/numa_topology.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace workloads::thread_affinity {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr float kFactor = 3;

std::int64_t elements_of(const std::string& size) {
  return examples::of_size<std::int64_t>(size, 1 << 15, 1 << 24, 1 << 24);
}

bench::Estimate estimate(const bench::Setup& setup) {
  const auto elements = static_cast<double>(elements_of(setup.size));
  bench::Estimate out = examples::estimate_of_elements(elements, elements, examples::kFloatBytes);
  out.bytes = 2 * examples::kFloatBytes * elements;
  return out;
}

/// Floats that have no memory before someone touches them: which thread does so decides on which node they are.
class UntouchedFloats {
 public:
  explicit UntouchedFloats(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(float)) {
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TORCH_CHECK(memory != MAP_FAILED, "no memory for ", count, " floats");
    data_ = static_cast<float*>(memory);
  }
  ~UntouchedFloats() { ::munmap(data_, bytes_); }
  UntouchedFloats(const UntouchedFloats&) = delete;
  UntouchedFloats& operator=(const UntouchedFloats&) = delete;
  float* data() const { return data_; }

 private:
  std::size_t bytes_;
  float* data_ = nullptr;
};

/// Threads that each do their part of a task, again and again, until they are let go.
class Threads {
 public:
  using Task = std::function<void(std::size_t thread)>;

  explicit Threads(std::size_t count) : edge_(static_cast<std::ptrdiff_t>(count) + 1) {
    for (std::size_t thread = 0; thread < count; ++thread) threads_.emplace_back([this, thread] { work(thread); });
  }
  ~Threads() {
    task_ = nullptr;
    edge_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Returns when all are done. What a task throws ends the program: tasks do not.
  void run(Task task) {
    task_ = std::move(task);
    edge_.arrive_and_wait();
    edge_.arrive_and_wait();
  }
  std::size_t count() const { return threads_.size(); }

 private:
  void work(std::size_t thread) {
    for (;;) {
      edge_.arrive_and_wait();
      if (!task_) return;
      task_(thread);
      edge_.arrive_and_wait();
    }
  }

  Task task_;
  std::barrier<> edge_;  // of a task: its begin and its end
  std::vector<std::thread> threads_;
};

class Scale : public examples::TensorVariant {
 public:
  explicit Scale(bool placed) : placed_(placed) {}

  void step() override {
    const ProfileRange range("step of threads");
    threads_->run([this](std::size_t thread) {
      const ProfileRange scale("scale");
      const auto [begin, end] = part_of(thread);
      const float* const x = x_->data();
      float* const y = y_->data();
      for (std::int64_t i = begin; i < end; ++i) y[i] = kFactor * x[i];
    });
  }

  bench::Work work() override {
    bench::Work work;
    work.bytes = 2 * examples::kFloatBytes * static_cast<double>(elements_of(size()));
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    std::size_t cpus = 0;
    for (const examples::NumaNode& node : nodes_) cpus += node.cpus.size();
    std::vector<bench::Metric> all{{"numa_nodes", static_cast<double>(nodes_.size())},
                                   {"cores", static_cast<double>(cpus)},
                                   {"threads", static_cast<double>(threads_->count())},
                                   {"pinned_threads", static_cast<double>(pinned_)}};
    if (const double share = local_share(); share >= 0) all.push_back({"local_pages_share", share});
    return all;
  }

 private:
  struct Part {
    std::int64_t begin, end;
  };
  /// Whole pages, so that no page is of two threads; the last part has the rest.
  Part part_of(std::size_t thread) const {
    const std::int64_t count = elements_of(size()), threads = static_cast<std::int64_t>(threads_->count());
    const std::int64_t page = page_floats(), pages = (count + page - 1) / page;
    const auto edge = [&](std::int64_t part) { return std::min(count, part * pages / threads * page); };
    return {edge(static_cast<std::int64_t>(thread)), edge(static_cast<std::int64_t>(thread) + 1)};
  }
  static std::int64_t page_floats() { return ::sysconf(_SC_PAGESIZE) / static_cast<std::int64_t>(sizeof(float)); }

  /// Of the pages that threads read: those on the node on which their thread runs now. Negative: the kernel does not
  /// tell.
  double local_share() {
    std::vector<std::int64_t> local(threads_->count()), known(threads_->count());
    threads_->run([&](std::size_t thread) {
      const auto [begin, end] = part_of(thread);
      std::vector<void*> pages;
      for (std::int64_t i = begin; i < end; i += page_floats()) pages.push_back(x_->data() + i);
      const int here = examples::current_node();
      for (const int node : examples::nodes_of_pages(pages)) {
        if (here < 0 || node < 0) continue;
        ++known[thread];
        if (node == here) ++local[thread];
      }
    });
    double of_node = 0, all = 0;
    for (const std::int64_t count : local) of_node += static_cast<double>(count);
    for (const std::int64_t count : known) all += static_cast<double>(count);
    return all > 0 ? of_node / all : -1;
  }

  void make() override {
    const std::int64_t count = elements_of(size());
    const std::vector<int> allowed = examples::allowed_cpus();
    nodes_ = examples::numa_nodes("/sys/devices/system/node", allowed);
    const std::size_t threads = std::max<std::size_t>(1, allowed.size());
    threads_ = std::make_unique<Threads>(threads);
    if (placed_) pin(examples::spread_over_nodes(nodes_, threads));
    x_ = std::make_unique<UntouchedFloats>(count);
    y_ = std::make_unique<UntouchedFloats>(count);
    const torch::Tensor drawn = torch::randn({count});
    const auto touch = [&](std::int64_t begin, std::int64_t end) {
      std::copy(drawn.const_data_ptr<float>() + begin, drawn.const_data_ptr<float>() + end, x_->data() + begin);
      std::fill(y_->data() + begin, y_->data() + end, 0.0F);
    };
    if (!placed_) return touch(0, count);
    threads_->run([&](std::size_t thread) {
      const auto [begin, end] = part_of(thread);
      touch(begin, end);
    });
  }

  void pin(const std::vector<int>& cpus) {
    std::vector<char> pinned(threads_->count());
    threads_->run([&](std::size_t thread) { pinned[thread] = thread < cpus.size() && examples::pin_to(cpus[thread]); });
    pinned_ = std::count(pinned.begin(), pinned.end(), 1);
  }

  std::vector<NamedTensor> given() override { return {{"x", torch::from_blob(x_->data(), {elements_of(size())})}}; }
  std::vector<NamedTensor> results() override { return {{"y", torch::from_blob(y_->data(), {elements_of(size())})}}; }

  bool placed_;
  std::int64_t pinned_ = 0;
  std::vector<examples::NumaNode> nodes_;
  std::unique_ptr<UntouchedFloats> x_, y_;
  std::unique_ptr<Threads> threads_;  // gone before what they work on
};

bench::Benchmark thread_affinity() {
  bench::Benchmark benchmark;
  benchmark.name = "thread_affinity";
  benchmark.estimate = estimate;
  benchmark.purpose = "memory of one thread's node and threads anywhere, threads pinned to where their memory is";
  benchmark.goal = bench::Goal::kThroughput;
  benchmark.baseline = {[] { return std::make_unique<Scale>(false); }, {}};
  benchmark.optimized = {[] { return std::make_unique<Scale>(true); }, {}};
  benchmark.informational = true;  // with a single node there is nothing to gain
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(thread_affinity());

}  // namespace workloads::thread_affinity
