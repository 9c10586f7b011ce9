// SPDX-License-Identifier: MIT
#pragma once

#include "common/process_group.hpp"
#include "common/tensor_variant.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace examples {

/// A variant that several processes run together; or one process, as the reference of a benchmark. Every rank draws the
/// inputs of the whole problem from the seed and uses its part of them. The CPU computes on one thread a rank.
class RankVariant : public bench::Variant {
 public:
  void setup(const bench::Setup& setup) final;
  /// Counts what `run` communicates.
  void step() final;
  std::vector<bench::TensorView> inputs() final;
  std::vector<bench::TensorView> outputs() final;
  /// Adds 1 to the middle element of the first tensor that was given, on every rank alike.
  void perturb() override;
  void synchronize() override;
  /// Calls and bytes of the last step by kind, of all ranks together; and the time for which it waited. The counts must
  /// be those of `expected_traffic`.
  std::vector<bench::Metric> metrics() final;

 protected:
  virtual void make() = 0;
  virtual void run() = 0;
  /// Of the whole problem, alike on every rank.
  virtual std::vector<NamedTensor> given() = 0;
  /// Of the whole problem; called by all ranks together, so that they may gather what each of them has.
  virtual std::vector<NamedTensor> results() = 0;
  /// What a step of this rank must give to collectives, from sizes alone.
  virtual Traffic expected_traffic() = 0;
  virtual std::vector<bench::Metric> more_metrics() { return {}; }

  ProcessGroup& group() { return group_; }
  std::int64_t rank() const { return group_.rank(); }
  std::int64_t ranks() const { return group_.size(); }
  torch::Device device() const { return device_; }
  const std::string& size() const { return size_; }
  /// This rank's rows of a tensor: the same number for each.
  torch::Tensor my_part(const torch::Tensor& whole, std::int64_t dimension = 0) const;
  /// The parts of all ranks, one after the other in dimension 0. Not for steps: it waits.
  torch::Tensor gathered(const torch::Tensor& part);
  /// The sum over all ranks. Not for steps: it waits.
  torch::Tensor summed(const torch::Tensor& tensor);

 private:
  torch::Device device_{torch::kCPU};
  std::string size_;
  ProcessGroup group_;
  Traffic traffic_;
  std::int64_t wait_ns_ = 0;
};

/// Why `setup.ranks` processes cannot run a benchmark here: a backend that is missing, or so many ranks that they do
/// not divide `parts` equally. For Benchmark::skip.
std::string skip_ranks(const bench::Setup& setup, std::int64_t parts);

/// For several ranks, on CPUs and CUDA devices: what the parallel benchmarks have in common. Each variant and the
/// reference get the same tolerance.
bench::Benchmark rank_benchmark(std::int64_t parts, const bench::Tolerance& cpu, const bench::Tolerance& cuda);

/// Training in two ways, each of which `Variant` is made with; `Alone` trains the same in one process.
template <typename Variant, typename Alone, typename Way>
bench::Benchmark training_benchmark(const std::string& name, const std::string& purpose, const Way& baseline,
                                    const Way& optimized, bench::Estimate (*estimate)(const bench::Setup&)) {
  bench::Benchmark benchmark = rank_benchmark(12, {1e-4, 1e-6}, {1e-3, 1e-5});
  benchmark.name = name;
  benchmark.purpose = purpose;
  benchmark.baseline.make = [baseline] { return std::make_unique<Variant>(baseline); };
  benchmark.optimized.make = [optimized] { return std::make_unique<Variant>(optimized); };
  benchmark.reference.make = [] { return std::make_unique<Alone>(); };
  benchmark.check_steps = 2;
  benchmark.check_size = "cpu";  // at size gpu gradients and weights take gigabytes
  benchmark.estimate = estimate;
  return benchmark;
}

}  // namespace examples
