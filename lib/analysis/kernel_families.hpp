// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rangefinder::analysis {

/// What kind of work a device operation does. docs/how-to/read-a-breakdown.md has a table of them.
enum class KernelFamily : std::uint8_t {
  kGemm,  ///< products of matrices and vectors, with what cuBLAS does for them (split-K sums, epilogues)
  kAttention,
  kConvolution,
  kNormalization,
  kElementwise,
  kReduction,      ///< sums, means, softmax, losses, pooling
  kEmbedding,      ///< table lookups and their gradients
  kOptimizer,      ///< what updates parameters
  kCommunication,  ///< NCCL, RCCL, and all-reduce kernels of others
  kCopy,           ///< copies, memsets, and kernels that move or fill without computing: cat, index, transpose
  kSort,           ///< sort, scan, top k, unique, select
  kOther,
};
inline constexpr std::size_t kKernelFamilies = 12;

/// "GEMM", "attention", ...; static.
std::string_view word_of(KernelFamily family) noexcept;

/// What the name of a kernel says: cuBLAS, cuDNN, CUTLASS, hipBLASLt and Tensile, Composable Kernel, MIOpen, Triton,
/// PyTorch's own, NCCL and RCCL. Demangled or not. Nothing where the name does not say.
///
///   family_of_kernel("Cijk_Alik_Bljk_BBS_BH_MT256x192x64");  // kGemm
std::optional<KernelFamily> family_of_kernel(std::string_view name);

/// What the name of an operator or of an autograd node says: "aten::addmm", "ConvolutionBackward0",
/// "Optimizer.step#Adam.step". Nothing where it does not say.
std::optional<KernelFamily> family_of_operator(std::string_view name);

/// The family of each activity of a timeline. The kernel's name decides. Where it says nothing, the innermost operator
/// around the launch that says something does. Kernels that only the operator gives a purpose (elementwise, reduction,
/// copy) belong to the family of the operator that launched them where that does more than such a kernel: the sums of
/// a batch normalization are normalization; so do matrix products of a convolution. What an optimizer step or an
/// embedding launches in operators inside is theirs likewise. Work of CUDA graphs counts where it was captured.
///
/// Cost: a projection without figures, and each name once; 5 bytes an activity.
class KernelFamilies {
 public:
  explicit KernelFamilies(const Timeline& timeline);

  KernelFamily of(ActivityIndex activity) const noexcept { return families_[activity]; }
  /// The innermost operator around its launch; kNone: none.
  RangeIndex operator_of(ActivityIndex activity) const noexcept { return operators_[activity]; }

 private:
  std::vector<KernelFamily> families_;
  std::vector<RangeIndex> operators_;
};

}  // namespace rangefinder::analysis
