// SPDX-License-Identifier: MIT
// A worker whose benchmarks have one planted fault each, and whose clock and allocator are ours: a step takes exactly
// the nanoseconds and bytes that it says.
#include "planted.hpp"

#include <rangefinder/bench/worker.hpp>
#include <rangefinder/range.hpp>

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

using namespace rangefinder::bench;
using planted::allocate;
using planted::clock_ns;
using planted::factor;

namespace {

std::int64_t live_bytes = 0, peak_bytes = 0;
std::int64_t device_begin_ns = 0, device_end_ns = 0, flushes = 0;

}  // namespace

namespace planted {

std::int64_t clock_ns = 0;

void allocate(std::int64_t bytes) {
  live_bytes += bytes;
  peak_bytes = std::max(peak_bytes, live_bytes);
}

double factor(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtod(text, nullptr) : 1;
}

}  // namespace planted

namespace {

struct Behaviour {
  double step_ns = 1000;
  double step_bytes = 4096;
  float error = 0;            ///< added to the last output
  bool seedless = false;      ///< inputs are the same whatever the seed
  bool other_inputs = false;  ///< inputs that the other variant does not have
  bool cached_for_ever = false;
  bool cached_in_variant = false;
  bool crashes = false, hangs = false, throws = false, exits = false, grows = false, empty = false, cold = false;
  bool busy = false;  ///< takes real CPU time, too
  double rounds = 0;  ///< of arithmetic, whose CPU time is the machine's own
};

/// Of this thread, whatever the clock says that the harness reads.
void keep_busy(double seconds) {
  const auto cpu_s = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
  };
  for (const double end = cpu_s() + seconds; cpu_s() < end;) {
  }
}

/// Each round waits for the one before: no compiler and no processor makes it shorter.
void calculate(double rounds) {
  static volatile double result = 1;
  double value = result;
  for (double round = 0; round < rounds; ++round) value = value * 0.999999 + 1e-6;
  result = value;
}

class Doubling : public Variant {
 public:
  explicit Doubling(Behaviour behaviour) : behaviour_(behaviour) {}
  ~Doubling() override { allocate(-held_); }

  void setup(const Setup& setup) override {
    if (behaviour_.throws) throw std::runtime_error("planted exception");
    const std::uint64_t seed = behaviour_.seedless ? 1 : setup.seed;
    for (std::size_t i = 0; i < x_.size(); ++i)
      x_[i] = static_cast<float>((seed * 31 + i * 17) % 101) + (behaviour_.other_inputs && i == 0 ? 0.5F : 0.0F);
    hold(1000);
  }

  void step() override {
    rangefinder::ProfileRange range{"double"};
    if (behaviour_.crashes) std::abort();
    if (behaviour_.exits) ::_exit(9);
    while (behaviour_.hangs) ::pause();
    if (behaviour_.busy) keep_busy(0.02);
    calculate(behaviour_.rounds);
    static bool warm = false;  // as a compiler's cache: once a process
    if (behaviour_.cold && !warm) clock_ns += 1'000'000;
    warm = true;
    clock_ns += static_cast<std::int64_t>(behaviour_.step_ns);
    allocate(static_cast<std::int64_t>(behaviour_.step_bytes));
    allocate(-static_cast<std::int64_t>(behaviour_.step_bytes));
    if (behaviour_.grows) hold(16);
    if (behaviour_.cached_in_variant && done_) return;
    static std::vector<float> kept;
    if (!behaviour_.cached_for_ever || kept.empty()) {
      for (std::size_t i = 0; i < x_.size(); ++i) y_[i] = x_[i] * 2;
      y_.back() += behaviour_.error;
      kept = y_;
    }
    if (behaviour_.cached_for_ever) y_ = kept;
    done_ = true;
  }

  std::vector<TensorView> inputs() override { return {{"x", ElementType::kFloat32, {8, 8}, x_.data()}}; }
  std::vector<TensorView> outputs() override {
    if (behaviour_.empty) return {};
    return {{"y", ElementType::kFloat32, {64}, y_.data()}};
  }
  Work work() override { return {128, 8, 1, 512, 64, 0.5, "fp32"}; }
  std::vector<Metric> metrics() override {
    return {{"launches", 3 * factor("PLANTED_LAUNCHES"), MetricKind::kCount},
            {"fact", 1, MetricKind::kFact},
            {"flushes", static_cast<double>(flushes), MetricKind::kFact}};
  }

 private:
  void hold(std::int64_t bytes) {
    held_ += bytes;
    allocate(bytes);
  }

  Behaviour behaviour_;
  std::int64_t held_ = 0;
  bool done_ = false;
  std::vector<float> x_ = std::vector<float>(64), y_ = std::vector<float>(64);
};

Benchmark benchmark(const std::string& name, Behaviour baseline, Behaviour optimized, Goal goal = Goal::kSpeed) {
  const auto variant = [](Behaviour behaviour) {
    return VariantSpec{[behaviour] { return std::make_unique<Doubling>(behaviour); }, {1e-5, 1e-6}};
  };
  Benchmark out;
  out.name = name;
  out.purpose = "planted: " + name;
  out.goal = goal;
  out.baseline = variant(baseline);
  out.optimized = variant(optimized);
  out.chapter = "planted";
  out.iterations = 7;
  out.warmup = 2;
  return out;
}

Behaviour fast() {
  return {.step_ns = 1000 * factor("PLANTED_SLOWDOWN"), .step_bytes = 1024 * factor("PLANTED_BYTES")};
}

void add_benchmarks() {
  const Behaviour slow{.step_ns = 4000, .step_bytes = 4096};
  const auto with = [](auto change) {
    Behaviour out = fast();
    change(out);
    return out;
  };
  Benchmark good = benchmark("good", slow, fast());
  good.least_ratio_cpu = 2;
  good.estimate = [](const Setup&) {
    return Estimate{.input_bytes = 256,
                    .output_bytes = 256 * factor("PLANTED_OUTPUTS"),
                    .flops = 64,
                    .bytes = 512,
                    .random_numbers = 64 * factor("PLANTED_RANDOM_NUMBERS")};
  };
  add_benchmark(good);
  add_benchmark(benchmark("good_throughput", slow, fast(), Goal::kThroughput));
  Benchmark memory = benchmark("good_memory", slow, {.step_ns = 4100, .step_bytes = 1024}, Goal::kMemory);
  memory.least_ratio_cpu = 4;
  memory.memory_above_setup = true;
  add_benchmark(memory);
  Benchmark slow_memory = memory;
  slow_memory.name = "slow_memory";
  slow_memory.optimized.make = [] {
    return std::make_unique<Doubling>(Behaviour{.step_ns = 6000, .step_bytes = 1024});
  };
  add_benchmark(slow_memory);
  Benchmark below = benchmark("below_goal", slow, {.step_ns = 3900 * factor("PLANTED_SLOWDOWN")});
  below.least_ratio_cpu = 2;
  add_benchmark(below);
  below.name = "informational";
  below.informational = true;
  add_benchmark(below);

  // Two changes and the same baseline; the second adds to the first.
  Benchmark change = benchmark("change_two", slow, {.step_ns = 1000, .step_bytes = 2048});
  change.series = "changes";
  change.builds_on = "change_one";
  add_benchmark(change);
  change = benchmark("change_one", slow, {.step_ns = 2000, .step_bytes = 2048});
  change.series = "changes";
  add_benchmark(change);

  Benchmark checked_small = benchmark("checked_small", slow, fast());
  checked_small.estimate = [](const Setup& setup) {
    return Estimate{.output_bytes = setup.size == "smoke" ? 256.0 : 1e12,
                    .flops = 64,
                    .bytes = setup.size == "smoke" ? 64.0 : 0.0,
                    .launches = setup.size == "smoke" ? 1e6 : 0.0,
                    .waiting_s = 1,
                    .step_waiting_s = setup.size == "smoke" ? 0.25 : 0.0};
  };
  checked_small.check_size = "smoke";
  add_benchmark(checked_small);
  add_benchmark(benchmark("wrong_output", slow, with([](Behaviour& b) { b.error = 0.25F; })));
  add_benchmark(benchmark("crash", slow, with([](Behaviour& b) { b.crashes = true; })));
  add_benchmark(benchmark("exit", slow, with([](Behaviour& b) { b.exits = true; })));
  add_benchmark(benchmark("hang", slow, with([](Behaviour& b) { b.hangs = true; })));
  add_benchmark(benchmark("throw", slow, with([](Behaviour& b) { b.throws = true; })));
  add_benchmark(benchmark("grow", slow, with([](Behaviour& b) { b.grows = factor("PLANTED_GROWTH") > 1; })));
  add_benchmark(benchmark("cached", slow, with([](Behaviour& b) { b.cached_for_ever = true; })));
  add_benchmark(benchmark("cached_in_variant", slow, with([](Behaviour& b) { b.cached_in_variant = true; })));
  add_benchmark(benchmark("seedless", {.seedless = true}, {.seedless = true}));
  add_benchmark(benchmark("other_inputs", slow, with([](Behaviour& b) { b.other_inputs = true; })));
  add_benchmark(benchmark("empty", {.empty = true}, {.empty = true}));
  add_benchmark(benchmark("cold", {.step_ns = 4000, .cold = true}, fast()));
  add_benchmark(benchmark("busy", {.step_ns = 4000, .busy = true}, with([](Behaviour& b) { b.busy = true; })));
  Benchmark arithmetic = benchmark("arithmetic", {.rounds = 2e5}, {.rounds = 1e5 * factor("PLANTED_SLOWDOWN")});
  arithmetic.iterations = 200;
  add_benchmark(arithmetic);
  Benchmark looser = benchmark("looser", slow, fast());
  looser.optimized.cpu.absolute = 1e-3;
  add_benchmark(looser);

  Benchmark skipped = benchmark("skipped", slow, fast());
  skipped.skip = [](const Setup&) { return "feature_not_built"; };
  add_benchmark(skipped);
  Benchmark cuda = benchmark("skipped_cuda", slow, fast());
  cuda.devices = {"cuda"};
  add_benchmark(cuda);
  Benchmark ranks = benchmark("skipped_ranks", slow, fast());
  ranks.least_ranks = 2;
  add_benchmark(ranks);
}

}  // namespace

int main(int argc, char** argv) {
  add_benchmarks();
  planted::add_benchmarks_of_ranks();
  WorkerHooks hooks;
  if (factor("PLANTED_CLOCK") > 0) {              // 0: the machine's own
    hooks.wall_ns = [] { return 2 * clock_ns; };  // a machine that is busy with something else
    hooks.cpu_ns = [] { return clock_ns; };
  }
  hooks.live_bytes = [](const std::string&) { return live_bytes; };
  hooks.peak_bytes = [](const std::string&) { return peak_bytes; };
  hooks.reset_peak = [](const std::string&) { peak_bytes = live_bytes; };
  // A device whose clock runs at half the speed and which takes a millijoule each 500 ns.
  hooks.begin_device_span = [](const std::string&) { device_begin_ns = clock_ns; };
  hooks.end_device_span = [](const std::string&) { device_end_ns = clock_ns; };
  hooks.device_span_ns = [](const std::string&) {
    return factor("PLANTED_DEVICE") > 1 ? (device_end_ns - device_begin_ns) / 2 : -1;
  };
  hooks.energy_mj = [](const std::string&) { return factor("PLANTED_DEVICE") > 1 ? clock_ns / 500 : -1; };
  hooks.energy_period_ns = [](const std::string&) { return static_cast<std::int64_t>(factor("PLANTED_PERIOD")); };
  hooks.flush_cache = [](const std::string&) {
    ++flushes;
    clock_ns += 5'000'000;
  };
  if (factor("PLANTED_PEAKS") > 1) {
    hooks.cuda = [] { return DeviceFacts{"PLANTED 9000", 1, 90}; };
    hooks.measure_peaks = [](const std::string& device, double) {
      return std::vector<PeakSamples>{{"flops", "bf16", {8e14, 9e14, 7e14}},
                                      {"bandwidth", device == "cuda" ? "triad" : "wrong", {3e12}},
                                      {"latency", "launch", {2e-6, 4e-6, 3e-6}},
                                      {"flops", "fp8", {}}};
    };
  }
  hooks.torch_version = "none";
  set_worker_hooks(std::move(hooks));
  return worker_main(argc, argv);
}
