// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>

#include <cstdint>
#include <initializer_list>

// What workloads know of tensors before they make them: for Benchmark::estimate.
namespace examples {

inline constexpr double kFloatBytes = 4, kIndexBytes = 8;

/// From the host's memory to an H100, about: from what the system may swap out, and from what it may not.
inline constexpr double kPageableBytes_per_s = 7e9, kPinnedBytes_per_s = 5e10;

/// Of an element that is a float on a CPU, and has half its bits on a CUDA device.
inline double float_or_half_bytes(const rangefinder::bench::Setup& setup) {
  return setup.device == "cuda" ? kFloatBytes / 2 : kFloatBytes;
}

/// Elements of a tensor of that shape.
inline double elements(std::initializer_list<std::int64_t> shape) {
  double count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
  return count;
}

/// Weights and bias of a linear layer.
inline double linear_elements(std::int64_t inputs, std::int64_t outputs) { return elements({inputs + 1, outputs}); }

/// Of products with weights, each with each row: forward, for the gradient of the weights, and for that of the rows. Of
/// data there is none: the products of the first `of_data` weights have no third part.
inline double training_flops(double weights, double rows, double of_data = 0) {
  return (6 * weights - 2 * of_data) * rows;
}

/// Of a training step of causal attention: every query meets its own key and those before it. `lengths`: those of a
/// query and of a value, over all heads. Backward takes twice as much as forward; that fused kernels compute the
/// weights again does not count.
inline double causal_training_flops(std::int64_t batch, std::int64_t length, double lengths) {
  return 3 * 2 * lengths * elements({batch, length, length + 1}) / 2;
}

/// Operators of a forward and a backward pass, which has two for each of the forward pass.
constexpr double training_launches(double forward) { return 3 * forward; }

/// Operators of LibTorch's AdamW for each parameter; SGD has one.
inline constexpr double kAdamWLaunches = 12;

/// Of elements of one type, where each input is drawn.
inline rangefinder::bench::Estimate estimate_of_elements(double inputs, double outputs, double element_bytes,
                                                         double flops = 0) {
  return {.input_bytes = inputs * element_bytes,
          .output_bytes = outputs * element_bytes,
          .flops = flops,
          .random_numbers = inputs};
}

}  // namespace examples
