// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/products.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <vector>

// Products of 16-bit operands, of sizes that tensor cores take, whose kernel does not use them.
namespace rangefinder::advice {
namespace {

/// Kernels without tensor cores add up in 32 bits, at the rate of 32-bit cores. 16-bit tensor cores against those: V100
/// 125/15.7, A100 312/19.5, H100 989/67 TFLOP/s, NVIDIA's data sheets.
double tensor_core_share(const DeviceInfo& device) noexcept { return device.compute_major == 7 ? 1.0 / 8 : 1.0 / 16; }

}  // namespace

Judgement judge_no_tensor_cores(Context& context) {
  const Timeline& timeline = context.timeline();
  const std::vector<Product>& products = context.products();
  if (products.empty()) return Judgement::nothing();
  bool any_known = false;
  Change change;
  EvidenceTable evidence(context);
  for (const Product& product : products) {
    any_known = any_known || (product.type != OperandType::kUnknown && product.cores != TensorCores::kUnknown);
    // Sizes that they do not take are gemm_alignment, and floats fp32_math.
    const bool could = product.type == OperandType::kHalf && product.is_aligned();
    if (!could || product.cores != TensorCores::kNotUsed || device_of(timeline, product.kernel).compute_major < 7)
      continue;
    change.scale_activity(timeline, product.kernel, tensor_core_share(device_of(timeline, product.kernel)));
    evidence.add_activity(product.kernel, length_of(timeline, product.kernel));
  }
  if (!any_known)
    return Judgement::cannot_tell(
        "types of products' operands, or kernels whose names tell what they use: record "
        "operators with shapes (OperatorRecording with shapes, torch.profiler's "
        "record_shapes=True)");
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kNoTensorCores, gain_ns, evidence,
      {counted(evidence.count(), "product") + " of 16-bit operands" + a_step(context) +
           in_range(evidence.main_range()) + (evidence.count() == 1 ? " runs" : " run") + " without tensor cores",
       "Give the library what its tensor core kernels take: contiguous operands that begin at multiples of 16 bytes, "
       "convolutions in channels_last, no very thin matrices (batch several products into one), and no "
       "CUBLAS_PEDANTIC_MATH or deterministic mode that rules them out",
       "`report --view kernels` shows kernels with tensorop, 16816, xmma or nvjet in their names"}));
}

}  // namespace rangefinder::advice
