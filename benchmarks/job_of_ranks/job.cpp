// SPDX-License-Identifier: MIT
#include "job_of_ranks/job.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace job {
namespace {

constexpr std::uint32_t kLayers = 24;
constexpr std::uint32_t kForwardKernels = 11;   // a layer
constexpr std::uint32_t kBackwardKernels = 20;  // a layer
constexpr std::uint32_t kOptimizerKernels =
    kActivitiesPerStep - 1 - kCollectivesPerStep - kLayers * (kForwardKernels + kBackwardKernels);
constexpr std::int64_t kAllReduce_ns = 420'000;  // once all have come
constexpr std::int64_t kAllGather_ns = 60'000;

enum RangeNumber : std::uint32_t { kStepRange, kForward, kBackward, kOptimizer, kFirstLayer };

constexpr const char* kKernels[] = {
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
    "ampere_bf16_s16816gemm_bf16_256x64_ldg8_f2f_stages_64x3_nn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 64, 128, 8>>",
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast>",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t>>",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>",
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
};
constexpr std::uint32_t kAllGatherKernel = std::size(kKernels) - 1, kAllReduceKernel = kAllGatherKernel - 1;

std::vector<Op> made_step() {
  std::vector<Op> ops;
  const auto kernels = [&](std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) ops.push_back({OpKind::kKernel, (i * 5 + count) % kAllReduceKernel});
  };
  const auto layer = [&](std::uint32_t number, std::uint32_t count) {
    ops.push_back({OpKind::kBegin, kFirstLayer + number});
    kernels(count);
    ops.push_back({OpKind::kEnd});
  };
  ops.push_back({OpKind::kBegin, kStepRange});
  ops.push_back({OpKind::kCopy});
  ops.push_back({OpKind::kBegin, kForward});
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    layer(i, kForwardKernels);
    if (i % 12 == 11) ops.push_back({OpKind::kAllGather, kAllGatherKernel});
  }
  ops.push_back({OpKind::kEnd});
  ops.push_back({OpKind::kBegin, kBackward});
  for (std::uint32_t i = kLayers; i-- > 0;) {
    layer(i, kBackwardKernels);
    if (i % 4 == 0) ops.push_back({OpKind::kAllReduce, kAllReduceKernel});
  }
  ops.push_back({OpKind::kEnd});
  ops.push_back({OpKind::kBegin, kOptimizer});
  ops.push_back({OpKind::kWait});
  kernels(kOptimizerKernels);
  ops.push_back({OpKind::kEnd});
  ops.push_back({OpKind::kEnd});
  return ops;
}

}  // namespace

const std::vector<const char*>& range_names() {
  static const std::vector<std::string> layers = [] {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < kLayers; ++i) names.push_back("layers." + std::to_string(i));
    return names;
  }();
  static const std::vector<const char*> all = [] {
    std::vector<const char*> names = {"train_step", "forward", "backward", "optimizer"};
    for (const std::string& layer : layers) names.push_back(layer.c_str());
    return names;
  }();
  return all;
}

const std::vector<const char*>& kernel_names() {
  static const std::vector<const char*> all(std::begin(kKernels), std::end(kKernels));
  return all;
}

const std::vector<Op>& step_ops() {
  static const std::vector<Op> ops = made_step();
  return ops;
}

std::int64_t kernel_ns(std::uint32_t rank, std::uint32_t step, std::size_t op) noexcept {
  std::uint64_t random = (std::uint64_t{rank} << 40) ^ (std::uint64_t{step} << 20) ^ op;
  random = (random ^ random >> 31) * 0x9E3779B97F4A7C15u;
  random = (random ^ random >> 29) * 0xBF58476D1CE4E5B9u;
  return 12'000 + static_cast<std::int64_t>(op % 7) * 9'000 + static_cast<std::int64_t>(random >> 52);
}

Interval run_compute(DeviceTime& device, std::int64_t length_ns) noexcept {
  const Interval ran{device.compute_ns, device.compute_ns + length_ns};
  device.compute_ns = ran.end_ns + kGap_ns;
  return ran;
}

std::int64_t collective_begin(const DeviceTime& device, OpKind kind) noexcept {
  return kind == OpKind::kAllReduce ? std::max(device.compute_ns, device.reduce_ns) : device.compute_ns;
}

void finish_collective(DeviceTime& device, OpKind kind, std::int64_t done_ns) noexcept {
  (kind == OpKind::kAllReduce ? device.reduce_ns : device.compute_ns) = done_ns + kGap_ns;
}

void wait_for_reduces(DeviceTime& device) noexcept {
  device.compute_ns = std::max(device.compute_ns, device.reduce_ns);
}

Schedule::Schedule(std::uint32_t ranks, std::uint32_t steps)
    : ranks_(ranks), steps_(steps), done_ns_(std::size_t{steps} * kCollectivesPerStep * ranks) {
  const std::vector<Op>& ops = step_ops();
  std::vector<DeviceTime> devices(ranks);
  std::size_t collective = 0;
  const auto communicate = [&](OpKind kind, std::uint32_t group_ranks, std::int64_t length_ns) {
    for (std::uint32_t first = 0; first < ranks; first += group_ranks) {
      const std::uint32_t end = std::min(first + group_ranks, ranks);
      std::int64_t done_ns = 0;
      for (std::uint32_t rank = first; rank < end; ++rank)
        done_ns = std::max(done_ns, collective_begin(devices[rank], kind) + length_ns);
      for (std::uint32_t rank = first; rank < end; ++rank) {
        done_ns_[collective * ranks + rank] = done_ns;
        finish_collective(devices[rank], kind, done_ns);
      }
    }
    ++collective;
  };
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::size_t op = 0; op < ops.size(); ++op) {
      const OpKind kind = ops[op].kind;
      if (kind == OpKind::kAllReduce) communicate(kind, ranks, kAllReduce_ns);
      if (kind == OpKind::kAllGather) communicate(kind, kRanksPerHost, kAllGather_ns);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (kind == OpKind::kCopy) run_compute(devices[rank], kCopy_ns);
        if (kind == OpKind::kKernel) run_compute(devices[rank], kernel_ns(rank, step, op));
        if (kind == OpKind::kWait) wait_for_reduces(devices[rank]);
      }
    }
  }
}

}  // namespace job
