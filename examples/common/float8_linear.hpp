// SPDX-License-Identifier: MIT
#pragma once

#include "common/low_precision.hpp"

#include <torch/torch.h>

#include <cstdint>

namespace examples {

/// A scale for the next matrix from the largest values of those before it ("delayed scaling"): it is there before the
/// matrix is, so that a kernel can cast while it writes. The first matrix is scaled by its own largest value. What grew
/// beyond all of the history saturates once.
class DelayedScale {
 public:
  DelayedScale(Format format, std::int64_t history, torch::Device device);
  Float8 quantize(const torch::Tensor& x);
  /// The largest values of the matrices before, float32; zeros where there were none yet.
  const torch::Tensor& history() const { return history_; }

 private:
  Format format_;
  torch::Tensor history_;
  std::int64_t count_ = 0;
};

/// How the three products of a linear layer are made: forward, for the gradient of the input, for that of the weight.
enum class Float8Recipe {
  kDelayed,           ///< one delayed scale a matrix; gradients in e5m2, the rest in e4m3
  kRows,              ///< a scale for each row, of its own largest value; all in e4m3, which has a digit more
  kRowsExactWeights,  ///< the same, but the gradient of the weight without float8
};

/// Scales of one linear layer, which live as long as it or as a graph of it.
struct Float8State : torch::CustomClassHolder {
  Float8State(Float8Recipe how, std::int64_t history, torch::Device device);
  Float8Recipe recipe;
  DelayedScale input, weight, gradient;
};

/// x weight^T for x [rows, inputs] and weight [outputs, inputs], in `type`, with gradients for both. Weights stay in
/// their type: they are cast in each step, for each step changes them.
torch::Tensor float8_linear(const torch::Tensor& x, const torch::Tensor& weight,
                            const c10::intrusive_ptr<Float8State>& state, torch::ScalarType type);

}  // namespace examples
