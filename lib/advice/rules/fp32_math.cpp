// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/products.hpp"
#include "advice/rule.hpp"
#include "analysis/operator_flops.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

// Products of 32-bit floats on a device that is several times faster with 16 bits.
namespace rangefinder::advice {
namespace {

/// Time that the product takes in 16 bits, over that which it takes, at the peaks of both. Dense, of NVIDIA's data
/// sheets: 16 bits against TF32 V100 -, A100 312/156, H100 989/495, B200 2250/1100 TFLOP/s; against 32-bit cores V100
/// 125/15.7, A100 312/19.5, H100 989/67.
double share_of(const AdviceOptions& options, const DeviceInfo& device, bool is_tf32) {
  if (options.peaks != nullptr) {
    const double half =
        std::max(options.peaks->best(device.name, "flops", "bf16"), options.peaks->best(device.name, "flops", "fp16"));
    const double now = options.peaks->best(device.name, "flops", is_tf32 ? "tf32" : "fp32");
    if (half > 0 && now > 0) return std::min(1.0, now / half);
  }
  if (is_tf32) return 0.5;
  return device.compute_major == 7 ? 1.0 / 8 : 1.0 / 16;
}

/// Other work of float operators reads and writes half as much in 16 bits.
void halve_other_work(Context& context, Change& change) {
  const Timeline& timeline = context.timeline();
  const OperatorTable& table = timeline.operators;
  for (const ActivityIndex kernel : context.work()) {
    const analysis::KernelFamily family = context.families().of(kernel);
    if (timeline.activities.kind[kernel] != ActivityKind::kKernel || family == analysis::KernelFamily::kGemm ||
        family == analysis::KernelFamily::kConvolution || family == analysis::KernelFamily::kCommunication)
      continue;
    const RangeIndex op = context.families().operator_of(kernel);
    const auto row = std::lower_bound(table.range.begin(), table.range.end(), op);
    if (row == table.range.end() || *row != op) continue;
    const std::string_view types = timeline.text(table.types[static_cast<std::size_t>(row - table.range.begin())]);
    if (analysis::operator_type(timeline.text(timeline.ranges.name[op]), types) == "float")
      change.scale_activity(timeline, kernel, 0.5);
  }
}

}  // namespace

Judgement judge_fp32_math(Context& context) {
  const Timeline& timeline = context.timeline();
  const std::vector<Product>& products = context.products();
  if (products.empty()) return Judgement::nothing();
  bool any_type = false;
  Change change;
  EvidenceTable evidence(context);
  for (const Product& product : products) {
    any_type = any_type || product.type != OperandType::kUnknown;
    const DeviceInfo& device = device_of(timeline, product.kernel);
    if (product.type != OperandType::kFloat) continue;
    const bool has_cores = device.compute_major >= 7 || device.warp_size == 64;  // 64: AMD's, with matrix cores
    if (!has_cores) continue;
    change.scale_activity(timeline, product.kernel,
                          share_of(context.options(), device, product.cores == TensorCores::kUsed));
    evidence.add_activity(product.kernel, length_of(timeline, product.kernel));
  }
  if (!any_type)
    return Judgement::cannot_tell(
        "types of products' operands: record operators with shapes (OperatorRecording with "
        "shapes, torch.profiler's record_shapes=True)");
  if (context.gain_ns(change) == 0) return Judgement::nothing();
  halve_other_work(context, change);
  const std::int64_t gain_ns = context.gain_ns(change);
  return Judgement::found(finding_of(
      AdviceRule::kFp32Math, gain_ns, evidence,
      {counted(evidence.count(), "product") + a_step(context) + in_range(evidence.main_range()) +
           (evidence.count() == 1 ? " has" : " have") + " 32-bit operands",
       "Use mixed precision: torch.autocast(\"cuda\", dtype=torch.bfloat16), in C++ at::autocast; where 32 bits are "
       "needed allow TF32 (torch.set_float32_matmul_precision(\"high\"), at::globalContext().setAllowTF32CuBLAS(true) "
       "and setAllowTF32CuDNN)",
       "`report --view ops --group-by shape` shows c10::BFloat16 for the operators, and `--view kernels` tensor core "
       "kernels; compare the loss"}));
}

}  // namespace rangefinder::advice
