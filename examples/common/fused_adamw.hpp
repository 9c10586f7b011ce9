// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <vector>

namespace examples {

/// AdamW as one operator for all parameters; `torch::optim::AdamW` is a dozen for each. Its state exists from the
/// start.
class FusedAdamW {
 public:
  explicit FusedAdamW(std::vector<torch::Tensor> parameters, torch::optim::AdamWOptions options = {});
  /// Parameters without a gradient stay as they are.
  void step();
  /// As if no step had been done; in place, for graphs that were captured.
  void reset();

 private:
  torch::optim::AdamWOptions options_;
  std::vector<torch::Tensor> parameters_, means_, squares_, steps_;
};

/// Makes the state of LibTorch's optimizer, which it would make in its first step. For programs whose peak bytes are
/// compared.
void make_state(torch::optim::AdamW& optimizer);

}  // namespace examples
