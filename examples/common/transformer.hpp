// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace examples {

struct TransformerOptions {
  std::int64_t vocabulary = 256;
  std::int64_t width = 128;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t sequence_length = 128;
  double dropout = 0;                    ///< of what each half of a block adds
  std::int64_t checkpoint_interval = 0;  ///< every so many blocks one keeps only its input; 0: none
};

/// Pre-norm decoder block: causal self-attention, then a GELU network four times as wide.
class BlockImpl : public torch::nn::Module {
 public:
  BlockImpl(std::int64_t width, std::int64_t heads, double dropout = 0);
  torch::Tensor forward(torch::Tensor x);

 private:
  std::int64_t heads_;
  double dropout_;
  torch::nn::LayerNorm norm1_, norm2_;
  torch::nn::Linear qkv_, out_, up_, down_;
};
TORCH_MODULE(Block);

/// Parameters of a Transformer, told without making one.
std::int64_t parameter_count(const TransformerOptions& options);
/// FLOPs of a training step on so many sequences: of products with weights, and of attention.
double training_flops(const TransformerOptions& options, std::int64_t sequences);

/// Operators of its forward and backward pass, about.
double launches_of_step(const TransformerOptions& options);

/// A small decoder-only language model, with a range around each part of its forward pass.
class TransformerImpl : public torch::nn::Module {
 public:
  explicit TransformerImpl(const TransformerOptions& options);
  /// Tokens [batch, sequence] to logits [batch, sequence, vocabulary].
  torch::Tensor forward(const torch::Tensor& tokens);
  std::int64_t parameter_count() const { return examples::parameter_count(options_); }

 private:
  TransformerOptions options_;
  torch::nn::Embedding tokens_, positions_;
  torch::nn::ModuleList blocks_;
  torch::nn::LayerNorm norm_;
  torch::nn::Linear head_;
};
TORCH_MODULE(Transformer);

}  // namespace examples
