// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace examples {

struct ResNetOptions {
  std::int64_t classes = 10;
  std::int64_t width = 64;    ///< channels of the first stage, a multiple of 8; each of the four has twice those before
  std::int64_t blocks = 2;    ///< in each stage: two make a ResNet-18
  bool checkpointed = false;  ///< blocks keep only their inputs
};

/// Of a ResNet, told without making one.
struct ResNetCosts {
  double parameters = 0;
  double forward_flops = 0;   ///< of convolutions and the head, for an image
  double training_flops = 0;  ///< of a step, for an image: forward, gradients of weights, and of all inputs but images
};
ResNetCosts costs_of(const ResNetOptions& options, std::int64_t image);

/// A residual net for small images, 3 x 32 x 32, with a range around each stage. Its norms use the statistics of eight
/// channels of one image: those of a batch would change when it is computed in parts, running ones when a checkpointed
/// block runs again. Its activations are smooth: at a kink the rounding of reduced precision decides the gradient.
class ResNetImpl : public torch::nn::Module {
 public:
  explicit ResNetImpl(const ResNetOptions& options);
  /// Images [batch, 3, height, width] to logits [batch, classes].
  torch::Tensor forward(const torch::Tensor& images);

 private:
  ResNetOptions options_;
  torch::nn::Conv2d stem_;
  torch::nn::GroupNorm norm_;
  torch::nn::ModuleList blocks_;
  torch::nn::Linear head_;
};
TORCH_MODULE(ResNet);

}  // namespace examples
