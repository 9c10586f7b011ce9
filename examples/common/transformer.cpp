// SPDX-License-Identifier: MIT
#include "common/transformer.hpp"

#include "common/checkpoint.hpp"
#include "common/estimates.hpp"

#include <rangefinder/range.hpp>

#include <string>

namespace examples {

using rangefinder::ProfileRange;

BlockImpl::BlockImpl(std::int64_t width, std::int64_t heads, double dropout)
    : heads_(heads),
      dropout_(dropout),
      norm1_(register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
      norm2_(register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
      qkv_(register_module("qkv", torch::nn::Linear(width, 3 * width))),
      out_(register_module("out", torch::nn::Linear(width, width))),
      up_(register_module("up", torch::nn::Linear(width, 4 * width))),
      down_(register_module("down", torch::nn::Linear(4 * width, width))) {}

torch::Tensor BlockImpl::forward(torch::Tensor x) {
  {
    ProfileRange range{"attention"};
    const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const torch::Tensor qkv = qkv_(norm1_(x)).view({batch, length, 3, heads_, width / heads_}).permute({2, 0, 3, 1, 4});
    const torch::Tensor mixed = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0.0, /*is_causal=*/true);
    x = x + torch::dropout(out_(mixed.transpose(1, 2).reshape({batch, length, width})), dropout_, is_training());
  }
  ProfileRange range{"mlp"};
  return x + torch::dropout(down_(torch::gelu(up_(norm2_(x)))), dropout_, is_training());
}

TransformerImpl::TransformerImpl(const TransformerOptions& options)
    : options_(options),
      tokens_(register_module("tokens", torch::nn::Embedding(options.vocabulary, options.width))),
      positions_(register_module("positions", torch::nn::Embedding(options.sequence_length, options.width))),
      blocks_(register_module("blocks", torch::nn::ModuleList())),
      norm_(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.width})))),
      head_(register_module(
          "head", torch::nn::Linear(torch::nn::LinearOptions(options.width, options.vocabulary).bias(false)))) {
  for (std::int64_t i = 0; i < options.layers; ++i)
    blocks_->push_back(Block(options.width, options.heads, options.dropout));
}

torch::Tensor TransformerImpl::forward(const torch::Tensor& tokens) {
  torch::Tensor x;
  {
    ProfileRange range{"embedding"};
    x = tokens_(tokens) + positions_(torch::arange(tokens.size(1), tokens.options()));
  }
  for (std::size_t i = 0; i < blocks_->size(); ++i) {
    ProfileRange range{"layer." + std::to_string(i)};
    BlockImpl& block = blocks_->at<BlockImpl>(i);
    const std::int64_t interval = options_.checkpoint_interval;
    x = interval > 0 && static_cast<std::int64_t>(i) % interval == 0
            ? checkpoint([&block](const torch::Tensor& in) { return block.forward(in); }, x)
            : block.forward(x);
  }
  ProfileRange range{"head"};
  return head_(norm_(x));
}

double launches_of_step(const TransformerOptions& options) {
  return training_launches(static_cast<double>(12 * options.layers + 8));
}

std::int64_t parameter_count(const TransformerOptions& options) {
  const std::int64_t width = options.width, norm = 2 * width;
  const auto linear = [](std::int64_t in, std::int64_t out) { return (in + 1) * out; };
  const std::int64_t block =
      2 * norm + linear(width, 3 * width) + linear(width, width) + linear(width, 4 * width) + linear(4 * width, width);
  return (2 * options.vocabulary + options.sequence_length) * width + options.layers * block + norm;
}

double training_flops(const TransformerOptions& options, std::int64_t sequences) {
  const std::int64_t width = options.width, length = options.sequence_length;
  const auto layers = static_cast<double>(options.layers);
  const double weights = layers * elements({3 + 1 + 4 + 4, width, width}) + elements({options.vocabulary, width});
  return training_flops(weights, elements({sequences, length})) +
         layers * causal_training_flops(sequences, length, 2 * static_cast<double>(width));
}

}  // namespace examples
