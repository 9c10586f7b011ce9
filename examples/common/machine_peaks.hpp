// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <functional>

namespace examples {

/// The roof of a roofline, measured here and now rather than looked up.
struct MachinePeaks {
  double flops_per_s = 0;  ///< of float32, by a product of large matrices
  double bytes_per_s = 0;  ///< by a triad, out = a + c b, of arrays that no cache holds
};

/// Seconds that `work` takes at best, of as many times as asked; waits for the device before and after each.
double best_seconds(torch::Device device, int times, const std::function<void()>& work);

/// `small`: with arrays that fit into a cache and small matrices, for a check of the program alone.
MachinePeaks measure_peaks(torch::Device device, bool small);

}  // namespace examples
