// SPDX-License-Identifier: MIT
// A small language model's step by autograd and an optimizer; and, on a CPU, the same step written out: no graph, no
// gradients of weights in memory, each update folded into the product that gives the gradient. On a CUDA device, where
// both variants compute in bfloat16, a graph of the whole step is replayed.
#include "common/by_device.hpp"
#include "common/estimates.hpp"
#include "common/language_variant.hpp"
#include "common/mixed_precision.hpp"
#include "common/operator_count.hpp"
#include "common/transformer.hpp"
#include "workloads/graphs/captured_work.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace workloads::training_speed {

using examples::NamedTensor;
using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;

constexpr double kRate = 0.1;

struct Sizes {
  std::int64_t batch;
  examples::TransformerOptions model;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(
      size, {2, {.vocabulary = 64, .width = 32, .layers = 2, .heads = 2, .sequence_length = 16}},
      {4, {.vocabulary = 512, .width = 128, .layers = 2, .heads = 4, .sequence_length = 64}},
      {8, {.vocabulary = 8192, .width = 512, .layers = 8, .heads = 8, .sequence_length = 256}});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const auto& [batch, model] = sizes_of(setup.size);
  const auto parameters = static_cast<double>(examples::parameter_count(model));
  // With a cast of each parameter and its gradient, and its update: a block has twelve.
  const double launches = examples::launches_of_step(model) + static_cast<double>(3 * 12 * model.layers);
  bench::Estimate out = examples::language_estimate(batch, model.sequence_length, parameters,
                                                    examples::training_flops(model, batch), launches);
  out.half = setup.device == "cuda";
  const double logits = examples::elements({batch, model.sequence_length, model.vocabulary});
  // The loss and weights, and logits, which autocast has in bfloat16; no gradients.
  out.output_bytes = examples::kFloatBytes * (1 + parameters) + examples::float_or_half_bytes(setup) * logits;
  return out;
}

/// Both variants: the model, and what it came to. Gradients are no result: the written-out variant never has them.
class Training : public examples::LanguageVariant {
 public:
  std::vector<bench::Metric> metrics() override {
    const std::int64_t operators = examples::operators_of([this] { step(); });
    return {{"operators_per_step", static_cast<double>(operators), bench::MetricKind::kCount}};
  }

 protected:
  virtual void prepare() = 0;
  double step_flops() const override {
    const auto [batch, model] = sizes_of(size());
    return examples::training_flops(model, batch);
  }
  torch::ScalarType products_type() const override { return device().is_cuda() ? torch::kBFloat16 : torch::kFloat; }
  void make() override {
    const Sizes sizes = sizes_of(size());
    options_ = sizes.model;
    draw_tokens(sizes.batch, options_.sequence_length, options_.vocabulary);
    model_ = examples::Transformer(options_);
    adopt(model_.ptr());
    prepare();
  }
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all{{"logits", logits_}, {"loss", loss_}};
    for (NamedTensor& weight : examples::parameters_of(*model_)) all.push_back(std::move(weight));
    return all;
  }

  examples::TransformerOptions options_;
  examples::Transformer model_{nullptr};
  Tensor logits_, loss_;
};

class Eager : public Training {
 public:
  void step() override {
    optimizer_->zero_grad();
    {
      const ProfileRange range("forward");
      // Casts are not cached: each weight is used once.
      const examples::Autocast precision(device().type(), torch::kBFloat16, device().is_cuda(), /*cache=*/false);
      logits_ = model_->forward(tokens());
      loss_ = cross_entropy(logits_, targets());
    }
    {
      const ProfileRange range("backward");
      loss_.backward();
    }
    const ProfileRange range("optimizer");
    optimizer_->step();
  }

 protected:
  void prepare() override { optimizer_.emplace(model_->parameters(), torch::optim::SGDOptions(kRate)); }

 private:
  std::optional<torch::optim::SGD> optimizer_;
};

/// The eager step, launched as a whole. Tokens and weights stay where they are, so it reads and changes those.
class Replayed : public Eager {
 public:
  void step() override {
    const ProfileRange range("replay");
    graph_->replay();
  }

 private:
  void prepare() override {
    Eager::prepare();
    std::vector<Tensor> first;
    for (const Tensor& weight : model_->parameters()) first.push_back(weight.detach().clone());
    graph_.emplace([this] { Eager::step(); }, pool_);
    const torch::NoGradGuard no_grad;
    const std::vector<Tensor> weights = model_->parameters();
    for (std::size_t i = 0; i < first.size(); ++i) weights[i].copy_(first[i]);
  }
  examples::GraphPool pool_;
  std::optional<examples::CapturedWork> graph_;
};

/// y = x weight^T + bias. Going back it gives the gradient of x, then changes its weights.
struct Affine {
  Tensor weight, bias, x;
  Tensor forward(const Tensor& in) {
    x = in;
    return bias.defined() ? torch::addmm(bias, x, weight.t()) : torch::mm(x, weight.t());
  }
  Tensor backward(const Tensor& gradient) {
    Tensor out = torch::mm(gradient, weight);
    weight.addmm_(gradient.t(), x, 1, -kRate);
    if (bias.defined()) bias.sub_(gradient.sum(0), kRate);
    return out;
  }
};

struct Norm {
  Tensor weight, bias, x, mean, inverse;
  Tensor forward(const Tensor& in) {
    x = in;
    Tensor out;
    std::tie(out, mean, inverse) = torch::native_layer_norm(x, weight.sizes(), weight, bias, 1e-5);
    return out;
  }
  Tensor backward(const Tensor& gradient) {
    const auto [out, of_weight, of_bias] =
        torch::native_layer_norm_backward(gradient, x, weight.sizes(), mean, inverse, weight, bias, {true, true, true});
    weight.sub_(of_weight, kRate);
    bias.sub_(of_bias, kRate);
    return out;
  }
};

/// A block of the model, on rows [batch * length, width].
struct WrittenBlock {
  std::int64_t batch, heads;
  Norm norm1, norm2;
  Affine qkv, out, up, down;
  std::vector<Tensor> parts;  // query, key, value
  Tensor mixed, sums, inner;

  Tensor forward(const Tensor& x) {
    const Tensor all = qkv.forward(norm1.forward(x));
    parts = all.view({batch, -1, 3, heads, x.size(1) / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    std::tie(mixed, sums) =
        at::_scaled_dot_product_flash_attention_for_cpu(parts[0], parts[1], parts[2], 0.0, /*is_causal=*/true);
    const Tensor middle = x + out.forward(mixed.transpose(1, 2).reshape(x.sizes()));
    inner = up.forward(norm2.forward(middle));
    return middle + down.forward(torch::gelu(inner));
  }
  Tensor backward(const Tensor& gradient) {
    const Tensor of_inner = at::gelu_backward(down.backward(gradient), inner);
    const Tensor of_middle = gradient + norm2.backward(up.backward(of_inner));
    const Tensor of_mixed = out.backward(of_middle).view({batch, -1, heads, gradient.size(1) / heads}).transpose(1, 2);
    const auto [query, key, value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        of_mixed, parts[0], parts[1], parts[2], mixed, sums, 0.0, /*is_causal=*/true);
    const Tensor of_all = torch::stack({query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)}, 2)
                              .view({gradient.size(0), 3 * gradient.size(1)});
    return of_middle + norm1.backward(qkv.backward(of_all));
  }
};

class WrittenOut : public Training {
 public:
  void step() override {
    const torch::NoGradGuard no_grad;
    const std::int64_t batch = tokens().size(0), length = tokens().size(1), rows = batch * length;
    Tensor probabilities;
    {
      const ProfileRange range("forward");
      Tensor x = (embedding_.index_select(0, tokens().flatten()).view({batch, length, -1}) + positions_).flatten(0, 1);
      for (WrittenBlock& block : blocks_) x = block.forward(x);
      const Tensor logits = head_.forward(norm_.forward(x));
      const Tensor logarithms = torch::log_softmax(logits, -1);
      loss_ = torch::nll_loss(logarithms, targets().flatten());
      logits_ = logits.view({batch, length, -1});
      probabilities = logarithms.exp_();
    }
    const ProfileRange range("backward");
    // Of the mean of cross entropies: probabilities, less one where the target is.
    const Tensor at = targets().view({rows, 1});
    const Tensor less = torch::full({rows, 1}, -1.0);
    Tensor gradient = norm_.backward(head_.backward(probabilities.scatter_add_(1, at, less).div_(rows)));
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) gradient = block->backward(gradient);
    positions_.sub_(gradient.view({batch, length, -1}).sum(0), kRate);
    embedding_.index_add_(0, tokens().flatten(), gradient, -kRate);
  }

 private:
  void prepare() override {
    const torch::NoGradGuard no_grad;
    const auto named = model_->named_parameters();
    const auto affine = [&](const std::string& name) {
      const Tensor* const bias = named.find(name + ".bias");
      return Affine{named[name + ".weight"], bias != nullptr ? *bias : Tensor(), {}};
    };
    const auto norm = [&](const std::string& name) {
      return Norm{named[name + ".weight"], named[name + ".bias"], {}, {}, {}};
    };
    embedding_ = named["tokens.weight"];
    positions_ = named["positions.weight"];
    for (std::int64_t i = 0; i < options_.layers; ++i) {
      const std::string block = "blocks." + std::to_string(i) + ".";
      blocks_.push_back({tokens().size(0),
                         options_.heads,
                         norm(block + "norm1"),
                         norm(block + "norm2"),
                         affine(block + "qkv"),
                         affine(block + "out"),
                         affine(block + "up"),
                         affine(block + "down"),
                         {},
                         {},
                         {},
                         {}});
    }
    norm_ = norm("norm");
    head_ = affine("head");
  }

  Tensor embedding_, positions_;
  std::vector<WrittenBlock> blocks_;
  Norm norm_;
  Affine head_;
};

bench::Benchmark training_speed() {
  bench::Benchmark benchmark;
  benchmark.name = "training_speed";
  benchmark.estimate = estimate;
  benchmark.purpose =
      "a step by autograd and SGD; on a CPU written out, updates folded in, on a GPU a graph of the step";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Eager>(); }, {1e-5, 1e-6}, {2e-2, 2e-2}};
  benchmark.optimized = {[] {
                           return std::make_unique<examples::ByDevice>([] { return std::make_unique<WrittenOut>(); },
                                                                       [] { return std::make_unique<Replayed>(); });
                         },
                         {1e-5, 1e-6},
                         {2e-2, 2e-2}};
  benchmark.skip = examples::skip_without_graphs;
  benchmark.check_steps = 3;
  benchmark.least_ratio_cuda = 1.5;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(training_speed());

}  // namespace workloads::training_speed
