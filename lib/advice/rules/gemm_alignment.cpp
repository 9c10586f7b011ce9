// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/products.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

// Products whose rows do not begin at multiples of 16 bytes: kernels load such operands in smaller pieces.
namespace rangefinder::advice {
namespace {

// Where the recording has no aligned product to compare with: NVIDIA, "Matrix Multiplication Background User's Guide",
// section 4.1, measured on A100: sizes that are not multiples of 8 take up to about twice as long.
constexpr double kAlignedShare = 0.5;

/// CUTLASS says in a kernel's name how many elements it loads at a time: "_align1".
bool is_misaligned_by_name(std::string_view kernel, OperandType type) {
  const std::size_t at = kernel.find("_align");
  if (at == std::string_view::npos || type != OperandType::kHalf) return false;
  return kernel.substr(at + 6).starts_with("1") || kernel.substr(at + 6).starts_with("2") ||
         kernel.substr(at + 6).starts_with("4");
}

bool can_be_aligned(const Product& product) {
  // Of floats without tensor cores, alignment changes little.
  return product.is_gemm && (product.type == OperandType::kHalf || product.type == OperandType::kEightBit ||
                             (product.type == OperandType::kFloat && product.cores == TensorCores::kUsed));
}

double rate_of(const Timeline& timeline, const Product& product) {
  const std::int64_t length_ns = length_of(timeline, product.kernel);
  return length_ns >= kShortestKernelNs ? product.flops / static_cast<double>(length_ns) : 0;
}

}  // namespace

Judgement judge_gemm_alignment(Context& context) {
  const Timeline& timeline = context.timeline();
  const std::vector<Product>& products = context.products();
  bool any_gemm = false, any_known = false;
  std::map<OperandType, double> best;  // FLOPs a nanosecond of aligned products
  for (const Product& product : products) {
    any_gemm = any_gemm || product.is_gemm;
    any_known = any_known || product.sizes;
    if (can_be_aligned(product) && product.sizes && product.is_aligned() && product.has_aligned_rows())
      best[product.type] = std::max(best[product.type], rate_of(timeline, product));
  }
  Change change;
  EvidenceTable evidence(context);
  std::array<std::int64_t, 3> example{};
  std::int64_t most_ns = 0;
  for (const Product& product : products) {
    const std::string_view name = timeline.text(timeline.activities.name[product.kernel]);
    const bool by_name = is_misaligned_by_name(name, product.type);
    any_known = any_known || by_name;
    if (!can_be_aligned(product)) continue;
    const double rate = rate_of(timeline, product), aligned = best[product.type];
    // Of rows alone, the rate tells whether they matter.
    const bool by_rows = !product.has_aligned_rows() && rate > 0 && aligned > 0;
    if (!by_name && product.is_aligned() && !by_rows) continue;
    const double share = rate > 0 && aligned > 0 ? std::min(1.0, rate / aligned) : kAlignedShare;
    change.scale_activity(timeline, product.kernel, share);
    const std::int64_t length_ns = length_of(timeline, product.kernel);
    evidence.add_activity(product.kernel, length_ns);
    if (!product.sizes || length_ns <= most_ns) continue;
    most_ns = length_ns;
    example = *product.sizes;
  }
  if (any_gemm && !any_known)
    return Judgement::cannot_tell(
        "sizes of products: record operators with shapes (OperatorRecording with shapes, "
        "torch.profiler's record_shapes=True)");
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  const std::string sizes = most_ns == 0 ? std::string()
                                         : ", such as " + std::to_string(example[0]) + " x " +
                                               std::to_string(example[1]) + " x " + std::to_string(example[2]);
  return Judgement::found(finding_of(
      AdviceRule::kGemmAlignment, gain_ns, evidence,
      {counted(evidence.count(), "product") + a_step(context) + in_range(evidence.main_range()) +
           (evidence.count() == 1 ? " has" : " have") + " sizes that are not multiples of 16 bytes" + sizes,
       "Pad sizes to multiples of 8 elements of 16 bits (64 is better): the vocabulary (50257 to 50304), hidden sizes, "
       "classes; of FP8 and INT8 to multiples of 16",
       "`report --view ops --group-by shape` shows the new sizes, and `--view kernels` kernels without align1 or "
       "align2"}));
}

}  // namespace rangefinder::advice
