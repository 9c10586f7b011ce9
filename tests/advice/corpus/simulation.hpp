// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/device.hpp"
#include "advice/corpus/program.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace rangefinder::testing::corpus {

class Meeting;

/// A kernel as it is launched. Its time is what it takes at full clocks.
struct Kernel {
  std::string name;
  double us = 0;
  std::uint32_t grid = 0;
  std::uint32_t block = 256;
  std::uint32_t registers = 40;
  std::uint32_t shared_bytes = 0;  ///< dynamic
};

enum class HostMemory : std::uint32_t { kPageable = 1, kPinned = 2 };

inline constexpr std::int64_t kComputeStream = 7, kCopyStream = 13, kNcclStream = 20;

/// A process: host threads of which one runs at a time, and a device with streams. Everything is causal: a kernel
/// begins after its launch, behind what is on its stream and what the stream waits for; who waits goes on when the work
/// is done; who launches too far ahead waits for room in the queue. All times have noise, from the seed.
///
///   Simulation run(seed);
///   {
///     const auto step = run.range("forward");
///     run.launch(kernel);
///   }
///   Program program = run.finish();
class Simulation {
 public:
  explicit Simulation(std::uint64_t seed, Program program = {});

  /// Open from construction to destruction.
  class Scope {
   public:
    Scope(Simulation& run, std::size_t range) : run_(run), range_(range) {}
    ~Scope() { run_.close(range_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Simulation& run_;
    std::size_t range_;
  };
  [[nodiscard]] Scope range(const std::string& name) { return Scope(*this, open(name, RangeKind::kAnnotation)); }
  /// An operator costs the host what PyTorch's dispatcher and Python do.
  [[nodiscard]] Scope op(const std::string& name, const std::string& shapes = {}, const std::string& types = {});

  std::int64_t now_ns() const noexcept { return now_ns_; }
  std::mt19937_64& random() noexcept { return random_; }
  /// Whatever is done on the host next is done by that thread; the others wait for it.
  void on_thread(std::size_t thread) noexcept { thread_ = thread; }
  std::size_t thread() const noexcept { return thread_; }
  void begin_step();
  /// What follows is in no step.
  void end_step();

  // ---- host
  void host(double us) { pass(noisy_ns(us)); }
  /// A call of CUDA's that concerns no work; answers its correlation id.
  std::uint32_t call(const std::string& name, double us, std::int32_t result = 0);

  /// Worker threads do so much each, in a range of that name; the calling thread waits for the last one. Their time on
  /// processors is counted.
  void in_parallel(const std::string& name, const std::vector<double>& us);
  /// An operator that computes on the host.
  void compute(const std::string& name, const std::string& shapes, const std::string& types, double us);

  // ---- device
  void launch(const Kernel& kernel, std::int64_t stream = kComputeStream);
  /// cudaMemcpyAsync. From pageable memory the call returns when the data are on their way.
  void copy_to_device(std::uint64_t bytes, HostMemory from, std::int64_t stream = kComputeStream);
  /// cudaMemcpyAsync to the host; from there on the copy is on the stream, unless the memory is pageable: then the host
  /// waits for it.
  void copy_to_host(std::uint64_t bytes, HostMemory to, std::int64_t stream = kComputeStream);
  /// tensor.item(): a copy of one value, and a wait for it.
  void item();
  /// cudaStreamSynchronize, cudaDeviceSynchronize.
  void synchronize_stream(std::int64_t stream = kComputeStream);
  void synchronize_device(const char* function = "cudaDeviceSynchronize");
  /// cudaEventRecord on the stream, and cudaEventSynchronize: the host waits for what was on it then.
  ProgramEvent record_event(std::int64_t stream = kComputeStream);
  void synchronize_event(const ProgramEvent& event);
  /// The next work of `stream` begins after what is on `other` now.
  void wait_event(std::int64_t stream, std::int64_t other);
  /// cudaMalloc and cudaFree; the latter waits for the device.
  std::uint64_t allocate(std::uint64_t bytes, double us);
  void free(std::uint64_t address, double us);
  /// One call launches all of it, a kernel after the other.
  void launch_graph(const std::vector<Kernel>& kernels, std::uint32_t graph);

  // ---- with other ranks
  /// Work of NCCL on its own stream that begins when this stream's work is done; or, on a process without a device, of
  /// Gloo on a thread of its own. Answers the collective.
  std::size_t collective(CollectiveKind kind, std::int64_t elements, const char* dtype, Meeting& meeting,
                         double slower = 1);
  /// Of Gloo: the calling thread waits until it is done.
  void wait_for(std::size_t collective);

  // ---- what others see
  void set_clock(std::uint32_t mhz, std::uint64_t throttle_reasons, std::uint32_t temperature_c = 62);
  void sample_sensors() noexcept { next_sample_ns_ = now_ns_; }
  void memory(MemoryAction action, std::uint64_t address, std::uint64_t bytes, std::int64_t allocated,
              std::int64_t reserved);
  void counter(const std::string& name, std::int64_t value);
  /// The host does the profiler's, or CUDA's, own work.
  void overhead(const std::string& name, double us);

  Program& program() noexcept { return program_; }
  /// Ends the step, and waits for the device.
  Program finish();

 private:
  /// From pageable memory the host waits for what does not fit into the staging buffer.
  void copy(double latency_us, std::uint64_t bytes, HostMemory memory, std::int64_t stream, CopyDetail detail,
            std::uint64_t staged_bytes);
  struct Stream {
    std::int64_t free_ns = 0;         // when what is on it is done
    std::deque<std::int64_t> begins;  // of what was launched last
  };

  std::size_t open(const std::string& name, RangeKind kind);
  void close(std::size_t range);
  void pass(std::int64_t ns);
  std::int64_t noisy_ns(double us, double deviation = 0.03);
  std::int64_t work_ns(double us);
  std::uint32_t begin_call(const std::string& name);
  void end_call(std::int64_t at_least_ns, double us);
  std::int64_t place(Stream& stream, std::int64_t from_ns, std::int64_t length_ns);
  void wait_for_room(Stream& stream);
  void wait_until(std::int64_t ns) {
    if (ns > now_ns_) pass(ns - now_ns_);
  }
  std::int64_t all_done_ns() const;
  ProgramWork work(ActivityKind kind, std::int64_t stream) const;

  Program program_;
  std::mt19937_64 random_;
  std::int64_t now_ns_ = 1'000'000'000;
  std::size_t thread_ = kMainThread;
  std::uint32_t correlation_ = 100;
  std::uint64_t next_address_ = 0x7f2000000000;
  std::uint64_t next_node_ = 0;
  std::map<std::int64_t, Stream> streams_;
  std::int64_t next_sample_ns_ = kNoTime;
  std::uint32_t clock_mhz_ = 1980, temperature_c_ = 58;
  std::uint64_t throttle_reasons_ = 0;
  std::int64_t gloo_free_ns_ = 0;
  bool in_step_ = false;
};

}  // namespace rangefinder::testing::corpus
