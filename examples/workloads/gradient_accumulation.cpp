// SPDX-License-Identifier: MIT
// One update from one large batch; and the same update from parts of it, whose gradients add up: only the activations
// of one part are there at a time.
#include "common/language_variant.hpp"
#include "common/transformer.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>

namespace workloads::gradient_accumulation {

using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kParts = 8;

struct Sizes {
  std::int64_t batch;
  examples::TransformerOptions model;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(
      size, {8, {.vocabulary = 64, .width = 32, .layers = 2, .heads = 2, .sequence_length = 16}},
      {16, {.vocabulary = 256, .width = 128, .layers = 4, .heads = 4}}, {32, {8192, 512, 8, 8, 512}});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  return examples::language_estimate(
      sizes.batch, sizes.model.sequence_length, static_cast<double>(examples::parameter_count(sizes.model)),
      examples::training_flops(sizes.model, sizes.batch), kParts * examples::launches_of_step(sizes.model));
}

class Training : public examples::LanguageVariant {
 public:
  explicit Training(std::int64_t parts) : parts_(parts) {}

  void step() override {
    optimizer_->zero_grad(/*set_to_none=*/false);
    torch::Tensor total = torch::zeros({}, device());
    const std::int64_t rows = tokens().size(0) / parts_;
    for (std::int64_t part = 0; part < parts_; ++part) {
      torch::Tensor loss;
      {
        const ProfileRange range("forward");
        // The mean over a part is divided by the number of parts: the sum is the mean over the batch.
        loss = cross_entropy(model_->forward(tokens().narrow(0, part * rows, rows)),
                             targets().narrow(0, part * rows, rows)) /
               static_cast<double>(parts_);
      }
      {
        const ProfileRange range("backward");
        loss.backward();
      }
      total += loss.detach();
    }
    const ProfileRange range("optimizer");
    optimizer_->step();
    set_loss(total);
  }

  std::vector<bench::Metric> metrics() override {
    return {{"backward_passes", static_cast<double>(parts_), bench::MetricKind::kCount},
            {"optimizer_steps", 1, bench::MetricKind::kCount}};
  }

 private:
  double step_flops() const override {
    const Sizes sizes = sizes_of(size());
    return examples::training_flops(sizes.model, sizes.batch);
  }
  void make() override {
    const Sizes sizes = sizes_of(size());
    draw_tokens(sizes.batch, sizes.model.sequence_length, sizes.model.vocabulary);
    model_ = examples::Transformer(sizes.model);
    adopt(model_.ptr());
    optimizer_.emplace(model_->parameters(), torch::optim::SGDOptions(0.1));
  }

  std::int64_t parts_;
  examples::Transformer model_{nullptr};
  std::optional<torch::optim::SGD> optimizer_;
};

bench::Benchmark gradient_accumulation() {
  bench::Benchmark benchmark;
  benchmark.name = "gradient_accumulation";
  benchmark.estimate = estimate;
  benchmark.purpose = "a batch at once; in eight parts whose gradients add up";
  benchmark.goal = bench::Goal::kMemory;
  benchmark.memory_above_setup = true;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Training>(1); }, {1e-4, 1e-6}, {1e-3, 1e-5}};
  benchmark.optimized = {[] { return std::make_unique<Training>(kParts); }, {1e-4, 1e-6}, {1e-3, 1e-5}};
  benchmark.least_ratio_cpu = 3;
  benchmark.least_ratio_cuda = 3;
  benchmark.check_steps = 2;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(gradient_accumulation());

}  // namespace workloads::gradient_accumulation
