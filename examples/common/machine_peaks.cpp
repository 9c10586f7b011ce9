// SPDX-License-Identifier: MIT
#include "common/machine_peaks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace examples {

double best_seconds(torch::Device device, int times, const std::function<void()>& work) {
  const auto wait = [&] {
    if (device.is_cuda()) torch::cuda::synchronize();
  };
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < times; ++i) {
    wait();
    const auto begin = std::chrono::steady_clock::now();
    work();
    wait();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

MachinePeaks measure_peaks(torch::Device device, bool small) {
  constexpr int kTimes = 5;
  const torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions().device(device).dtype(torch::kFloat);
  MachinePeaks peaks;
  {
    const std::int64_t side = small ? 256 : device.is_cuda() ? 8192 : 1536;
    const torch::Tensor left = torch::ones({side, side}, options), right = torch::ones({side, side}, options);
    torch::Tensor product = torch::empty({side, side}, options);
    const double flops = 2.0 * static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(side);
    peaks.flops_per_s = flops / best_seconds(device, kTimes, [&] { at::mm_out(product, left, right); });
  }
  const std::int64_t count = small ? 1 << 16 : 1 << 26;
  const torch::Tensor a = torch::ones({count}, options), b = torch::ones({count}, options);
  torch::Tensor out = torch::empty({count}, options);
  const double bytes = 3.0 * 4.0 * static_cast<double>(count);
  peaks.bytes_per_s = bytes / best_seconds(device, kTimes, [&] { at::add_out(out, a, b, 3); });
  return peaks;
}

}  // namespace examples
