// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace examples {

/// Operators on `device` compute in `type` where that is safe, while it lives, on this thread. On the way out all of
/// autocast's settings are as they were, and casts of weights that the outermost one cached are gone.
class Autocast {
 public:
  Autocast(torch::DeviceType device, torch::ScalarType type, bool enabled = true, bool cache = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  torch::DeviceType device_;
  bool was_enabled_;
  torch::ScalarType was_type_;
  bool was_cached_;
};

/// Whether the CPU has instructions for products of bfloat16: of vectors (AVX512_BF16) or tiles (AMX). Without them
/// autocast makes a CPU slower, ten times and more.
bool has_bfloat16_products();
/// Whether it has those for tiles.
bool has_bfloat16_tiles();

/// Keeps float16 gradients from vanishing: the loss is multiplied before the backward pass, gradients are divided after
/// it. An update whose gradients overflowed is left out, and the factor halved; it doubles after 2000 good ones.
class GradScaler {
 public:
  explicit GradScaler(torch::Device device, double factor = 65536);
  torch::Tensor scale(const torch::Tensor& loss) const;
  /// Divides the gradients of `parameters`, then calls `update` unless one is not finite. Waits for the device.
  bool step(const std::vector<torch::Tensor>& parameters, const std::function<void()>& update);
  double factor() const;
  std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  torch::Tensor factor_, good_steps_, overflowed_;
  std::uint64_t skipped_ = 0;
};

}  // namespace examples
