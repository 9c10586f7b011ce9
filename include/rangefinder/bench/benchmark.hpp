// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// An A/B benchmark: a baseline and an optimized variant of one workload. It lives in a worker
// (bench/worker.hpp); the harness (bench/harness.hpp) checks, times and compares its variants, each in a process of its
// own.
namespace rangefinder::bench {

enum class ElementType : std::uint8_t {
  kBool,
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};

RANGEFINDER_EXPORT std::string_view to_string(ElementType type) noexcept;
RANGEFINDER_EXPORT std::size_t size_of(ElementType type) noexcept;

/// Elements of an input or output in the host's memory, row by row, without gaps.
struct TensorView {
  std::string name;
  ElementType type = ElementType::kFloat32;
  std::vector<std::int64_t> shape;  ///< empty: a single element
  void* data = nullptr;
  /// What `data` points into, when that is a copy (of a device's memory, say): lives as long as the view.
  std::shared_ptr<void> owner{};
};

/// Which inputs a variant is to make, and which of how many processes makes them.
struct Setup {
  std::string device = "cpu";  ///< "cpu" or "cuda"
  std::string size = "cpu";    ///< "smoke", "cpu" or "gpu"
  std::uint64_t seed = 42;     ///< the same seed gives the same inputs and weights in both variants
  unsigned rank = 0;           ///< of this process, below `ranks`
  unsigned ranks = 1;          ///< processes that run the variant together; 1 for the reference
  /// A file, not there yet, in which the ranks find each other: the path of a c10d::FileStore, say. A new one for each
  /// variant that is made. Empty where `ranks` is 1.
  std::string store{};
};

/// Work of one step; 0 where it has no meaning. Rates are made of it.
struct Work {
  double tokens = 0;
  double samples = 0;
  double requests = 0;
  double bytes = 0;
  /// That the step's result needs, a multiplication and an addition as two: not what a variant computes twice
  /// (checkpoints, the weights of attention in its backward pass) or for nothing (masked pairs, experts that no token
  /// chose).
  double flops = 0;
  /// Of tokens, samples and requests: the share that is of use, neither padding nor done twice nor thrown away.
  double useful_share = 1;
  /// The type in which most of `flops` are computed, as MachinePeak::type has it: "fp32", "bf16". Empty: not told;
  /// there is no MFU then.
  std::string flops_type{};
};

/// What a variant takes, as far as it is known before one is made; 0: not known. Where variants differ, the greater
/// one. Of several ranks (`Setup::ranks`): what one of them takes.
struct Estimate {
  double input_bytes = 0;     ///< of all that `inputs` gives
  double output_bytes = 0;    ///< of all that `outputs` gives after the steps of the correctness check
  double flops = 0;           ///< of a step
  double bytes = 0;           ///< of a step
  double launches = 0;        ///< operators of a step, each of which a device must be given; about
  double random_numbers = 0;  ///< drawn on the host, by set-up and for `inputs`; about
  /// Of a whole correctness check, about: seconds for which it waits for what a variant does not compute: compilers,
  /// records that arrive.
  double waiting_s = 0;
  double step_waiting_s = 0;  ///< the same of a step that is timed
  bool half = false;          ///< its FLOPs are of products in fp16 or bf16, which a device does many times as fast
};

/// What a metric's worsening is measured by, against stored expectations.
enum class MetricKind : std::uint8_t {
  kTime,   ///< nanoseconds; 25 % more is worse
  kBytes,  ///< 2 % more is worse
  kCount,  ///< launches, allocations, collectives: one more is worse
  kRate,   ///< 25 % less is worse
  kFact,   ///< shown, never compared
};

/// What the values of all ranks come to.
enum class OverRanks : std::uint8_t {
  kByKind,  ///< bytes, counts and rates: the sum; times: the greatest; facts: rank 0's
  kSum,
  kMost,   ///< the greatest
  kFirst,  ///< of the lowest rank that has the metric
};

struct Metric {
  std::string name;
  double value = 0;
  MetricKind kind = MetricKind::kFact;
  OverRanks over_ranks = OverRanks::kByKind;
};

/// One program of a benchmark. Made anew for each correctness check, and once for all timed steps; not moved between
/// threads.
///
/// With several ranks each process makes one. All ranks are told to do the same at the same time, in the same order, so
/// that collectives find their partners in the other ranks. Outputs of each rank that has any are compared; a rank with
/// none gives an empty list. Inputs are compared rank by rank. `perturb` is called on all ranks. What `work` and
/// `metrics` give is of this rank: the harness adds the work up, and makes one metric of all by `Metric::over_ranks`.
///
/// Errors: what a member throws fails the row, with its message.
class RANGEFINDER_EXPORT Variant {
 public:
  virtual ~Variant();
  /// Makes inputs and weights from the seed, and nothing that belongs into a step.
  virtual void setup(const Setup& setup) = 0;
  /// What is timed.
  virtual void step() = 0;
  /// Everything that both variants must be given alike; hashed after setup.
  virtual std::vector<TensorView> inputs() = 0;
  /// Everything that the steps came to, whole.
  virtual std::vector<TensorView> outputs() = 0;
  /// Changes one element of the inputs so that the next step must give another output. The default changes the middle
  /// element of the first input, through the pointer that `inputs` gives; override it where that points to a copy, or
  /// where that element does not count.
  virtual void perturb();
  /// Waits until the device is done.
  virtual void synchronize() {}
  /// After the timed steps.
  virtual Work work() { return {}; }
  virtual std::vector<Metric> metrics() { return {}; }
};

/// Says, until its end, that this rank waits for other ranks. Of ranks that do not answer, those that wait are not at
/// fault: the harness then names the one that does not. Put it around what blocks in collectives.
///
///   const rangefinder::bench::WaitForRanks waiting;
///   work->wait();
///
/// Threads: of the variant's thread. Cost: two atomic operations; nothing in a single process.
class RANGEFINDER_EXPORT WaitForRanks {
 public:
  WaitForRanks() noexcept;
  ~WaitForRanks();
  WaitForRanks(const WaitForRanks&) = delete;
  WaitForRanks& operator=(const WaitForRanks&) = delete;

 private:
  bool outermost_;
};

enum class Goal : std::uint8_t {
  kSpeed,       ///< time of baseline / optimized
  kThroughput,  ///< the same, of programs whose steps do unlike work: useful work a second
  kMemory,      ///< peak bytes of baseline / optimized, at a bounded loss of time
};

/// How far an output may be from the baseline's: |a - b| <= absolute + relative * |b| for every element; or, where
/// `frobenius` is not 0, |a - b| / |b| over a whole tensor.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double frobenius = 0;
};

/// How a variant is made, and how far its outputs may be from the baseline's.
struct VariantSpec {
  std::function<std::unique_ptr<Variant>()> make;
  Tolerance cpu;
  Tolerance cuda{};
};

/// An A/B benchmark: one workload, two variants that must give the same outputs. docs/how-to/add-a-workload.md builds
/// one.
struct Benchmark {
  std::string name;
  std::string purpose;  ///< one line
  Goal goal = Goal::kSpeed;
  VariantSpec baseline;
  /// May not declare a looser tolerance than the baseline.
  VariantSpec optimized;
  /// The whole problem in one process (`Setup::ranks` is 1): what the outputs of each rank of both variants must equal,
  /// within the variant's own tolerance. Checked, never timed. Empty: the ranks of the optimized variant must equal
  /// those of the baseline.
  VariantSpec reference{};
  std::string chapter = "ch13";
  std::vector<std::string> devices{"cpu"};
  std::vector<std::string> sizes{"smoke", "cpu", "gpu"};
  /// The least ratio that meets the goal, at size cpu on a CPU and at size gpu on a GPU; 0: none, the ratio is shown.
  double least_ratio_cpu = 0;
  double least_ratio_cuda = 0;
  /// Of a memory goal: the optimized variant may take so many times as long.
  double time_bound = 1.3;
  /// Of a memory goal: bytes above those after set-up count (activations), not all (weights too).
  bool memory_above_setup = false;
  /// Steps before outputs are compared: more than one where an error would show only later.
  std::uint32_t check_steps = 1;
  /// The size whose outputs are compared where size gpu is timed; empty: gpu itself. For outputs of gigabytes: each
  /// comparison writes both to disk, and draws all weights anew.
  std::string check_size{};
  std::uint32_t iterations = 20;
  std::uint32_t warmup = 5;
  /// Processes that a variant needs: with `rangefinder bench run --nproc N` it gets N, and is skipped where N is less.
  /// A benchmark that needs 1 and has no `reference` is of one process: it gets one whatever N is.
  std::uint32_t least_ranks = 1;
  /// Never fails for its goal or stored expectations, except for ratios that are stored of a processor family.
  bool informational = false;
  /// A table of changes that it is a row of: benchmarks of one series have the same baseline variant. Empty: its own.
  std::string series{};
  /// Of a series, the benchmark whose optimized variant has all that this one has but one change: the row before, in a
  /// table in which changes add up. Empty: the baseline.
  std::string builds_on{};
  /// What its variants take, told without making one: `rangefinder bench run --dry-run` asks. Empty: nothing is known.
  std::function<Estimate(const Setup&)> estimate{};
  /// Why it cannot run here: "no_cuda_device", "needs_sm_90", "feature_not_built", ...; empty: it can.
  std::function<std::string(const Setup&)> skip{};
};

/// Adds a benchmark to those of this program; false when the name is taken. For a static variable beside the benchmark:
///   [[maybe_unused]] const bool kAdded = rangefinder::bench::add_benchmark(my_benchmark());
RANGEFINDER_EXPORT bool add_benchmark(Benchmark benchmark);
RANGEFINDER_EXPORT const std::vector<Benchmark>& benchmarks();

}  // namespace rangefinder::bench
