// SPDX-License-Identifier: MIT
// A dense decoder as code models are built: root-mean-square norms, rotary positions, gated networks, heads that share
// keys. Written down operator by operator; and with the fused norm, attention and optimizer.
#include "common/decoder_parts.hpp"
#include "common/estimates.hpp"
#include "common/fused_adamw.hpp"
#include "common/language_variant.hpp"
#include "common/mixed_precision.hpp"

#include <rangefinder/range.hpp>

#include <ATen/ops/rms_norm.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::train_deepseek_coder {

using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;

struct Shape {
  std::int64_t batch, length, vocabulary, width, heads, key_heads, inner, layers;
};

Shape shape_of(const std::string& size) {
  return examples::of_size<Shape>(size, {2, 16, 64, 32, 4, 2, 64, 2}, {4, 128, 512, 256, 8, 2, 512, 4},
                                  {4, 2048, 16384, 1024, 16, 16, 2816, 8});
}

double parameter_count(const Shape& shape) {
  const std::int64_t width = shape.width, keys = width / shape.heads * shape.key_heads;
  const double layer =
      2 * static_cast<double>(width) + examples::elements({2 * width + 2 * keys + 3 * shape.inner, width});
  return examples::elements({2 * shape.vocabulary + 1, width}) + static_cast<double>(shape.layers) * layer;
}

double flops_of(const Shape& shape) {
  const std::int64_t width = shape.width, keys = width / shape.heads * shape.key_heads;
  const auto layers = static_cast<double>(shape.layers);
  const double weights = layers * examples::elements({2 * width + 2 * keys + 3 * shape.inner, width}) +
                         examples::elements({shape.vocabulary, width});
  return examples::training_flops(weights, examples::elements({shape.batch, shape.length})) +
         layers * examples::causal_training_flops(shape.batch, shape.length, 2 * static_cast<double>(width));
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Shape shape = shape_of(setup.size);
  // Of a layer: norms of five operators, attention of twenty, casts; nine parameters.
  const double launches =
      (examples::training_launches(40) + 9 * examples::kAdamWLaunches) * static_cast<double>(shape.layers);
  bench::Estimate out =
      examples::language_estimate(shape.batch, shape.length, parameter_count(shape), flops_of(shape), launches);
  // Scores as float and as half, forward and backward.
  out.bytes = 40 * examples::elements({shape.layers, shape.batch, shape.heads, shape.length, shape.length});
  out.half = setup.device == "cuda";
  return out;
}

/// Parameters of a module: `to` gives them other storage under the same handles.
struct Layer {
  Tensor norm1, query, key, value, out, norm2, gate, up, down;
};

class DecoderImpl : public torch::nn::Module {
 public:
  DecoderImpl(const Shape& shape, bool fused, torch::Device device)
      : shape_(shape), fused_(fused), rotary_(shape.length, shape.width / shape.heads, device) {
    const std::int64_t width = shape.width, keys = width / shape.heads * shape.key_heads;
    embedding_ = register_parameter("embedding", examples::random_weight({shape.vocabulary, width}));
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      const auto add = [&](const char* name, Tensor weight) {
        return register_parameter("layer" + std::to_string(i) + "_" + name, std::move(weight));
      };
      layers_.push_back({add("norm1", torch::ones({width})), add("query", examples::random_weight({width, width})),
                         add("key", examples::random_weight({keys, width})),
                         add("value", examples::random_weight({keys, width})),
                         add("out", examples::random_weight({width, width})), add("norm2", torch::ones({width})),
                         add("gate", examples::random_weight({shape.inner, width})),
                         add("up", examples::random_weight({shape.inner, width})),
                         add("down", examples::random_weight({width, shape.inner}))});
    }
    norm_ = register_parameter("norm", torch::ones({width}));
    head_ = register_parameter("head", examples::random_weight({shape.vocabulary, width}));
    hidden_from_ =
        torch::full({shape.length, shape.length}, -std::numeric_limits<float>::infinity()).triu(1).to(device);
  }

  Tensor forward(const Tensor& tokens) {
    Tensor x = torch::embedding(embedding_, tokens);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const ProfileRange range("layer." + std::to_string(i));
      const Layer& layer = layers_[i];
      {
        const ProfileRange attention("attention");
        x = x + attend(layer, norm(x, layer.norm1));
      }
      const ProfileRange mlp("mlp");
      x = x + examples::swiglu(norm(x, layer.norm2), layer.gate, layer.up, layer.down);
    }
    const ProfileRange range("head");
    return torch::linear(norm(x, norm_), head_);
  }

 private:
  Tensor norm(const Tensor& x, const Tensor& weight) const {
    return fused_ ? at::rms_norm(x, {shape_.width}, weight, 1e-6) : examples::root_mean_square_norm(x, weight);
  }

  Tensor attend(const Layer& layer, const Tensor& x) const {
    const std::int64_t size = shape_.width / shape_.heads;
    const auto heads = [&](const Tensor& weight, std::int64_t count) {
      return torch::linear(x, weight).view({x.size(0), x.size(1), count, size}).transpose(1, 2);
    };
    const Tensor query = rotary_.turn(heads(layer.query, shape_.heads));
    const Tensor key = rotary_.turn(heads(layer.key, shape_.key_heads));
    const Tensor value = heads(layer.value, shape_.key_heads);
    Tensor mixed;
    if (fused_) {
      mixed = at::scaled_dot_product_attention(query, key, value.to(query.scalar_type()), {}, 0.0, /*is_causal=*/true,
                                               std::nullopt, /*enable_gqa=*/true);
    } else {
      const std::int64_t shared = shape_.heads / shape_.key_heads;
      const Tensor scores = torch::matmul(query, key.repeat_interleave(shared, 1).transpose(-2, -1)) /
                            std::sqrt(static_cast<double>(size));
      mixed = torch::matmul(torch::softmax(scores + hidden_from_, -1), value.repeat_interleave(shared, 1));
    }
    return torch::linear(mixed.transpose(1, 2).reshape(x.sizes()), layer.out);
  }

  Shape shape_;
  bool fused_;
  examples::Rotary rotary_;
  Tensor embedding_, norm_, head_, hidden_from_;
  std::vector<Layer> layers_;
};
TORCH_MODULE(Decoder);

class Training : public examples::LanguageVariant {
 public:
  explicit Training(bool fused) : fused_(fused) {}

  void step() override {
    model_->zero_grad(/*set_to_none=*/false);
    Tensor loss;
    {
      const ProfileRange range("forward");
      // On a GPU in mixed precision, both variants.
      const examples::Autocast precision(device().type(), torch::kBFloat16, device().is_cuda());
      loss = cross_entropy(model_->forward(tokens()), targets());
    }
    {
      const ProfileRange range("backward");
      loss.backward();
    }
    const ProfileRange range("optimizer");
    if (fused_)
      fused_optimizer_->step();
    else
      optimizer_->step();
    set_loss(loss);
  }

 private:
  double step_flops() const override { return flops_of(shape_of(size())); }
  torch::ScalarType products_type() const override { return device().is_cuda() ? torch::kBFloat16 : torch::kFloat; }
  void make() override {
    const Shape shape = shape_of(size());
    draw_tokens(shape.batch, shape.length, shape.vocabulary);
    model_ = Decoder(shape, fused_, device());
    adopt(model_.ptr());
    if (fused_)
      fused_optimizer_.emplace(model_->parameters());
    else
      optimizer_.emplace(model_->parameters());
  }

  bool fused_;
  Decoder model_{nullptr};
  std::optional<torch::optim::AdamW> optimizer_;
  std::optional<examples::FusedAdamW> fused_optimizer_;
};

bench::Benchmark train_deepseek_coder() {
  bench::Benchmark benchmark;
  benchmark.name = "train_deepseek_coder";
  benchmark.estimate = estimate;
  benchmark.purpose = "dense decoder operator by operator; fused norm, attention, AdamW";
  benchmark.devices = {"cpu", "cuda"};
  // Whole tensors: where a gradient is nearly nothing, its rounding decides AdamW's first update.
  constexpr bench::Tolerance kCpu{.frobenius = 1e-3}, kCuda{.frobenius = 5e-2};
  benchmark.baseline = {[] { return std::make_unique<Training>(false); }, kCpu, kCuda};
  benchmark.optimized = {[] { return std::make_unique<Training>(true); }, kCpu, kCuda};
  benchmark.iterations = 10;
  benchmark.check_size = "cpu";  // at size gpu weights and gradients take gigabytes
  benchmark.warmup = 2;
  benchmark.informational = true;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(train_deepseek_coder());

}  // namespace workloads::train_deepseek_coder
