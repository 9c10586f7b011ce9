// SPDX-License-Identifier: MIT
#include "common/device_peaks.hpp"

#include <ATen/Context.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace examples {
namespace {

using rangefinder::bench::PeakSamples;

/// Float32 products in TF32, or not, as long as it lives.
class Tf32 {
 public:
  explicit Tf32(bool allow) : before_(at::globalContext().allowTF32CuBLAS()) { set(allow); }
  ~Tf32() { set(before_); }
  Tf32(const Tf32&) = delete;
  Tf32& operator=(const Tf32&) = delete;

 private:
  static void set(bool allow) { at::globalContext().setAllowTF32CuBLAS(allow); }
  bool before_;
};

class Meter {
 public:
  Meter(torch::Device device, double seconds) : device_(device), seconds_(seconds) {}

  /// `amount` a second, of work that is done again and again, at least three times, after once that does not count.
  void rate(const char* what, const std::string& type, double amount, const std::function<void()>& work) {
    PeakSamples out{what, type, {}};
    for (const double each : times(work)) out.samples.push_back(amount / each);
    all_.push_back(std::move(out));
  }
  /// Seconds for one of the `count` things that work consists of.
  void latency(const std::string& type, double count, const std::function<void()>& work) {
    PeakSamples out{"latency", type, {}};
    for (const double each : times(work)) out.samples.push_back(each / count);
    all_.push_back(std::move(out));
  }
  void wait() const {
    if (device_.is_cuda()) torch::cuda::synchronize();
  }
  std::vector<PeakSamples> all() && { return std::move(all_); }

 private:
  std::vector<double> times(const std::function<void()>& work) const {
    using Clock = std::chrono::steady_clock;
    work();
    wait();
    std::vector<double> out;
    double sum = 0;
    for (int i = 0; i < 3 || (sum < seconds_ && i < 1000); ++i) {
      const auto begin = Clock::now();
      work();
      wait();
      out.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
      sum += out.back();
    }
    return out;
  }

  torch::Device device_;
  double seconds_;
  std::vector<PeakSamples> all_;
};

void measure_products(Meter& meter, torch::Device device) {
  struct Type {
    const char* name;
    torch::Dtype dtype;
    bool tf32;
  };
  const Type types[] = {{"fp64", torch::kDouble, false},
                        {"fp32", torch::kFloat, false},
                        {"tf32", torch::kFloat, true},
                        {"bf16", torch::kBFloat16, false},
                        {"fp16", torch::kHalf, false}};
  for (const Type& type : types) {
    if (!device.is_cuda() && type.tf32) continue;
    const Tf32 tf32(type.tf32);
    const std::int64_t side = !device.is_cuda() ? 768 : type.dtype == torch::kDouble ? 4096 : 8192;
    const auto options = torch::TensorOptions().device(device).dtype(type.dtype);
    try {
      const torch::Tensor left = torch::ones({side, side}, options), right = torch::ones({side, side}, options);
      torch::Tensor product = torch::empty({side, side}, options);
      const auto n = static_cast<double>(side);
      meter.rate("flops", type.name, 2 * n * n * n, [&] { at::mm_out(product, left, right); });
    } catch (const c10::Error&) {  // a type that this device or build does not multiply
    }
  }
}

/// Products of 8-bit numbers, a scale for each side: the right one column by column, as devices want it.
void measure_fp8_products(Meter& meter, torch::Device device) {
  if (!device.is_cuda()) return;
  constexpr std::int64_t kSide = 8192;
  const auto options = torch::TensorOptions().device(device);
  try {
    const torch::Tensor left = torch::ones({kSide, kSide}, options).to(torch::kFloat8_e4m3fn), right = left.t();
    const torch::Tensor scale = torch::ones({}, options);
    const auto n = static_cast<double>(kSide);
    meter.rate("flops", "fp8", 2 * n * n * n, [&] {
      (void)at::_scaled_mm(left, right, scale, scale, /*bias=*/{}, /*scale_result=*/{}, torch::kBFloat16,
                           /*use_fast_accum=*/true);
    });
  } catch (const c10::Error&) {  // devices before Ada and Hopper have none
  }
}

void measure_memory(Meter& meter, torch::Device device) {
  const std::int64_t count = device.is_cuda() ? 1 << 28 : 1 << 24;
  const auto options = torch::TensorOptions().device(device).dtype(torch::kFloat);
  const torch::Tensor a = torch::ones({count}, options), b = torch::ones({count}, options);
  torch::Tensor out = torch::empty({count}, options);
  const double bytes = 4 * static_cast<double>(count);
  meter.rate("bandwidth", "copy", 2 * bytes, [&] { out.copy_(a); });
  meter.rate("bandwidth", "triad", 3 * bytes, [&] { at::add_out(out, a, b, 3); });
}

void measure_transfers(Meter& meter, torch::Device device) {
  const std::int64_t count = 1 << 26;
  torch::Tensor there = torch::empty({count}, torch::TensorOptions().device(device));
  const double bytes = 4 * static_cast<double>(count);
  for (const bool pinned : {true, false}) {
    torch::Tensor here = torch::ones({count}, torch::TensorOptions().pinned_memory(pinned));
    const std::string suffix = pinned ? "_pinned" : "_pageable";
    meter.rate("transfer", "host_to_device" + suffix, bytes, [&] { there.copy_(here, pinned); });
    meter.rate("transfer", "device_to_host" + suffix, bytes, [&] { here.copy_(there, pinned); });
  }
}

void measure_launches(Meter& meter, torch::Device device) {
  constexpr int kLaunches = 1000;
  torch::Tensor one = torch::zeros({1}, torch::TensorOptions().device(device));
  meter.latency("launch", kLaunches, [&] {
    for (int i = 0; i < kLaunches; ++i) one.add_(1);
  });
  meter.latency("launch_and_wait", kLaunches, [&] {
    for (int i = 0; i < kLaunches; ++i) {
      one.add_(1);
      meter.wait();
    }
  });
}

}  // namespace

std::vector<PeakSamples> measure_device(torch::Device device, double seconds) {
  const torch::NoGradGuard no_grad;
  Meter meter(device, seconds);
  measure_products(meter, device);
  measure_fp8_products(meter, device);
  measure_memory(meter, device);
  if (device.is_cuda()) measure_transfers(meter, device);
  measure_launches(meter, device);
  return std::move(meter).all();
}

}  // namespace examples
