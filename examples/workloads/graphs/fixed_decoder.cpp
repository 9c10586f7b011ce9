// SPDX-License-Identifier: MIT
#include "workloads/graphs/fixed_decoder.hpp"

#include <cmath>
#include <string>

namespace examples {

using rangefinder::ProfileRange;

namespace {

torch::Tensor normed(const torch::Tensor& x, const torch::Tensor& weight) {
  return torch::layer_norm(x, weight.sizes(), weight);
}

}  // namespace

FixedDecoder::FixedDecoder(const FixedDecoderOptions& options, torch::Device device) : options_(options) {
  const auto [vocabulary, width, layers, heads, length, sequences] = options;
  TORCH_CHECK(width % heads == 0, "a width of ", width, " for ", heads, " heads");
  const auto random = [&](torch::IntArrayRef shape, double scale) { return (torch::randn(shape) * scale).to(device); };
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  tokens_ = torch::randint(vocabulary, {length, sequences}, torch::kInt64).to(device);
  embedding_ = random({vocabulary, width}, 1);
  places_ = random({length, width}, 1);
  for (std::int64_t i = 0; i < layers; ++i) {
    Layer layer{rangefinder::RangeName("layer." + std::to_string(i))};
    layer.norm1 = random({width}, 0.1).add_(1);
    layer.norm2 = random({width}, 0.1).add_(1);
    layer.qkv = random({3 * width, width}, scale);
    layer.out = random({width, width}, scale);
    layer.up = random({4 * width, width}, scale);
    layer.down = random({width, 4 * width}, scale / 2);
    layer.keys = torch::zeros({sequences, heads, length, width / heads}, device);
    layer.values = torch::zeros_like(layer.keys);
    layers_.push_back(std::move(layer));
  }
  head_ = random({vocabulary, width}, scale);
  logits_ = torch::zeros({length, sequences, vocabulary}, device);
  position_ = torch::zeros({1}, torch::TensorOptions(torch::kInt64).device(device));
  slots_ = torch::arange(length, torch::TensorOptions(torch::kInt64).device(device));
}

torch::Tensor FixedDecoder::attention(const Layer& layer, const torch::Tensor& x, const torch::Tensor& mask) const {
  const std::int64_t rows = x.size(0), heads = options_.heads;
  const torch::Tensor qkv = torch::linear(x, layer.qkv).view({rows, 3, heads, 1, options_.width / heads});
  const torch::Tensor keys = layer.keys.narrow(0, 0, rows), values = layer.values.narrow(0, 0, rows);
  keys.index_copy_(2, position_, qkv.select(1, 1));
  values.index_copy_(2, position_, qkv.select(1, 2));
  const torch::Tensor mixed = at::scaled_dot_product_attention(qkv.select(1, 0), keys, values, mask);
  return torch::linear(mixed.flatten(1), layer.out);
}

void FixedDecoder::step(std::int64_t sequences) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor tokens = tokens_.index_select(0, position_).narrow(1, 0, sequences).flatten();
  // Keys of later positions are left from before, or zeros: hidden either way.
  const torch::Tensor mask =
      slots_.le(position_).view({1, 1, 1, options_.length}).expand({sequences, options_.heads, 1, options_.length});
  torch::Tensor x;
  {
    const ProfileRange range{"embed"};
    x = embedding_.index_select(0, tokens) + places_.index_select(0, position_);
  }
  for (const Layer& layer : layers_) {
    const ProfileRange range{layer.name};
    x = x + attention(layer, normed(x, layer.norm1), mask);
    x = x + torch::linear(torch::gelu(torch::linear(normed(x, layer.norm2), layer.up)), layer.down);
  }
  const ProfileRange range{"head"};
  logits_.narrow(1, 0, sequences).index_copy_(0, position_, torch::linear(x, head_).unsqueeze(0));
  position_.add_(1);
}

void FixedDecoder::clear() {
  logits_.zero_();
  for (const Layer& layer : layers_) {
    layer.keys.zero_();
    layer.values.zero_();
  }
  restart();
}

std::vector<NamedTensor> FixedDecoder::weights() const {
  std::vector<NamedTensor> all{{"embedding", embedding_}, {"places", places_}, {"head", head_}};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const std::string name = "layer." + std::to_string(i) + ".";
    all.insert(all.end(), {{name + "norm1", layer.norm1},
                           {name + "norm2", layer.norm2},
                           {name + "qkv", layer.qkv},
                           {name + "out", layer.out},
                           {name + "up", layer.up},
                           {name + "down", layer.down}});
  }
  return all;
}

}  // namespace examples
