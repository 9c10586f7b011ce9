// SPDX-License-Identifier: MIT
// A training step that keeps all activations for its backward pass; and one whose blocks keep only their inputs and run
// again. There is dropout: only a second run that draws the same numbers comes to the same gradients.
#include "common/fused_adamw.hpp"
#include "common/language_variant.hpp"
#include "common/transformer.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>

namespace workloads::training_standard {

using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t batch;
  examples::TransformerOptions model;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(
      size, {2, {.vocabulary = 64, .width = 32, .layers = 4, .heads = 2, .sequence_length = 32}},
      {8, {.vocabulary = 1000, .width = 256, .layers = 12, .heads = 4}}, {8, {8192, 512, 16, 8, 1024}});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  return examples::language_estimate(
      sizes.batch, sizes.model.sequence_length, static_cast<double>(examples::parameter_count(sizes.model)),
      examples::training_flops(sizes.model, sizes.batch), examples::launches_of_step(sizes.model));
}

class Training : public examples::LanguageVariant {
 public:
  explicit Training(std::int64_t checkpoint_interval) : interval_(checkpoint_interval) {}

  void step() override {
    model_->zero_grad(/*set_to_none=*/false);
    torch::Tensor loss;
    {
      const ProfileRange range("forward");
      loss = cross_entropy(model_->forward(tokens()), targets());
    }
    {
      const ProfileRange range("backward");
      loss.backward();
    }
    const ProfileRange range("optimizer");
    optimizer_->step();
    set_loss(loss);
  }

 private:
  double step_flops() const override {
    const Sizes sizes = sizes_of(size());
    return examples::training_flops(sizes.model, sizes.batch);
  }
  void make() override {
    Sizes sizes = sizes_of(size());
    sizes.model.dropout = 0.1;
    sizes.model.checkpoint_interval = interval_;
    draw_tokens(sizes.batch, sizes.model.sequence_length, sizes.model.vocabulary);
    model_ = examples::Transformer(sizes.model);
    adopt(model_.ptr());
    optimizer_.emplace(model_->parameters());
  }

  std::int64_t interval_;
  examples::Transformer model_{nullptr};
  std::optional<examples::FusedAdamW> optimizer_;
};

bench::Benchmark training_standard(std::int64_t interval) {
  bench::Benchmark benchmark;
  benchmark.goal = bench::Goal::kMemory;
  benchmark.memory_above_setup = true;
  benchmark.devices = {"cpu", "cuda"};
  // The same operators on the same numbers, some twice: on a CPU the same bits. On a device sums have no fixed order,
  // and where a gradient is nearly nothing, its rounding decides AdamW's first updates: whole tensors.
  constexpr bench::Tolerance kCuda{.frobenius = 1e-3};
  benchmark.baseline = {[] { return std::make_unique<Training>(0); }, {0, 0}, kCuda};
  benchmark.optimized = {[interval] { return std::make_unique<Training>(interval); }, {0, 0}, kCuda};
  benchmark.check_steps = 3;
  benchmark.estimate = estimate;
  benchmark.iterations = 10;
  benchmark.check_size = "cpu";  // at size gpu weights and gradients take gigabytes
  benchmark.warmup = 2;
  return benchmark;
}

bench::Benchmark every_block() {
  bench::Benchmark benchmark = training_standard(1);
  benchmark.name = "training_standard";
  benchmark.purpose = "activations kept; every block checkpointed";
  benchmark.least_ratio_cpu = 3;
  benchmark.least_ratio_cuda = 2;
  benchmark.time_bound = 1.6;  // the blocks run forward twice: a third more than forward and backward
  return benchmark;
}

bench::Benchmark every_eighth_block() {
  bench::Benchmark benchmark = training_standard(8);
  benchmark.name = "training_standard_interval8";
  benchmark.purpose = "activations kept; every eighth block checkpointed";
  benchmark.informational = true;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(every_block()) && bench::add_benchmark(every_eighth_block());

}  // namespace workloads::training_standard
