// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace examples {

struct ResNetOptions {
  std::int64_t classes = 10;
  std::int64_t width = 64;    ///< channels of the first stage; each of the four has twice those of the one before
  std::int64_t blocks = 2;    ///< in each stage: two make a ResNet-18
  bool checkpointed = false;  ///< blocks keep only their inputs
};

/// A residual net for small images, 3 x 32 x 32, with a range around each stage. Its norms use the statistics of the
/// batch at all times: running ones would count a batch twice when a checkpointed block runs again. Its activations are
/// smooth: at a kink the rounding of reduced precision decides the gradient.
class ResNetImpl : public torch::nn::Module {
 public:
  explicit ResNetImpl(const ResNetOptions& options);
  /// Images [batch, 3, height, width] to logits [batch, classes].
  torch::Tensor forward(const torch::Tensor& images);

 private:
  ResNetOptions options_;
  torch::nn::Conv2d stem_;
  torch::nn::BatchNorm2d norm_;
  torch::nn::ModuleList blocks_;
  torch::nn::Linear head_;
};
TORCH_MODULE(ResNet);

}  // namespace examples
