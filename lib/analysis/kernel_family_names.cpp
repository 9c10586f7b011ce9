// SPDX-License-Identifier: MIT
#include "analysis/communication_names.hpp"
#include "analysis/kernel_families.hpp"

#include <algorithm>
#include <iterator>
#include <string>

// What names of kernels and operators say. Rules are tried from the top, and the first whose part is in the name
// decides; so a part stands above another one that names of its family may have too: the names of CUTLASS's attention
// kernels have "gemm" in them. Parts are in small letters.
namespace rangefinder::analysis {
namespace {
namespace family_names {

using enum KernelFamily;

struct NameRule {
  std::string_view part;
  KernelFamily family;
};

constexpr NameRule kKernelRules[] = {
    // All-reduce and the like of vLLM, TensorRT-LLM, PyTorch's symmetric memory, NVSHMEM, DeepEP.
    {"cross_device_reduce", kCommunication},
    {"all_reduce", kCommunication},
    {"allreduce", kCommunication},
    {"all_gather", kCommunication},
    {"allgather", kCommunication},
    {"reduce_scatter", kCommunication},
    {"reducescatter", kCommunication},
    {"all_to_all", kCommunication},
    {"alltoall", kCommunication},
    {"nvshmem", kCommunication},
    {"deep_ep", kCommunication},
    // Names with a part of another family.
    {"rotary", kElementwise},
    {"reshape_and_cache", kCopy},
    {"searchsorted", kElementwise},
    {"moe_align", kSort},
    {"sorttokens", kSort},

    {"attention", kAttention},
    {"flash_fwd", kAttention},
    {"flash_bwd", kAttention},
    {"flashattn", kAttention},
    {"flash_attn", kAttention},
    {"flashinfer", kAttention},
    {"fmha", kAttention},
    {"attn_fwd", kAttention},
    {"attn_bwd", kAttention},
    {"_attn_", kAttention},
    {"sdpa", kAttention},
    {"bwd_kernel_dk_dv", kAttention},
    {"reduce_segments", kAttention},  // vLLM's split attention
    {"bwd_kernel_dq", kAttention},

    {"embedding", kEmbedding},
    {"pooled_embs", kEmbedding},
    {"bucketize_sparse_features", kEmbedding},
    {"linearize_index", kEmbedding},
    {"bounds_check_indices", kEmbedding},
    {"fbgemm_gpu::", kEmbedding},

    {"adam", kOptimizer},
    {"adagrad", kOptimizer},
    {"adadelta", kOptimizer},
    {"rmsprop", kOptimizer},
    {"fusedsgd", kOptimizer},
    {"sgdfunctor", kOptimizer},
    {"sgdmath", kOptimizer},
    {"lambstage", kOptimizer},
    {"fusedlamb", kOptimizer},
    {"novograd", kOptimizer},

    {"layer_norm", kNormalization},
    {"layernorm", kNormalization},
    {"batch_norm", kNormalization},
    {"batchnorm", kNormalization},
    {"group_norm", kNormalization},
    {"groupnorm", kNormalization},
    {"instance_norm", kNormalization},
    {"instancenorm", kNormalization},
    {"rms_norm", kNormalization},
    {"rmsnorm", kNormalization},
    {"weight_norm", kNormalization},
    {"rowwisemoments", kNormalization},
    {"gammabeta", kNormalization},
    {"computefusedparams", kNormalization},
    {"::bn_fw", kNormalization},
    {"::bn_bw", kNormalization},
    {"ln_fwd_", kNormalization},
    {"ln_bwd_", kNormalization},

    {"bgrad_reduce", kGemm},
    {"wgrad_gemm", kGemm},
    {"convol", kConvolution},
    {"conv1d", kConvolution},
    {"conv2d", kConvolution},
    {"conv3d", kConvolution},
    {"_conv_", kConvolution},
    {"convbin", kConvolution},
    {"convfwd", kConvolution},
    {"convbwd", kConvolution},
    {"convu", kConvolution},  // MIOpen's ConvU
    {"asmconv", kConvolution},
    {"groupedconv", kConvolution},
    {"igemm_", kConvolution},  // MIOpen: igemm_fwd_gtcx, igemm_bwd, igemm_wrw
    {"fprop", kConvolution},
    {"dgrad", kConvolution},
    {"wgrad", kConvolution},
    {"winograd", kConvolution},
    {"scudnn", kConvolution},
    {"cask_cudnn", kConvolution},
    {"cutlass_cudnn", kConvolution},
    {"im2col", kConvolution},
    {"im2d2col", kConvolution},
    {"col2im", kConvolution},
    {"nchwtonhwc", kCopy},
    {"nhwctonchw", kCopy},

    {"cijk_", kGemm},  // Tensile
    {"gemm", kGemm},
    {"gemv", kGemm},
    {"matmul", kGemm},
    {"cublas", kGemm},
    {"rocblas", kGemm},
    {"splitkreduce", kGemm},
    {"nvjet", kGemm},  // cuBLAS
    {"fused_moe_kernel", kGemm},
    {"_mm_kernel", kGemm},
    {"bmm", kGemm},
    {"scaled_mm", kGemm},
    {"addmm", kGemm},
    {"marlin", kGemm},
    {"xmma", kGemm},
    {"cutlass::kernel", kGemm},
    {"cutlass::device_kernel", kGemm},

    {"radixsort", kSort},
    {"radix_sort", kSort},
    {"mergesort", kSort},
    {"merge_sort", kSort},
    {"bitonic", kSort},
    {"sort", kSort},
    {"topk", kSort},
    {"reducebykey", kSort},
    {"reduce_by_key", kSort},
    {"devicescan", kSort},
    {"devicecompact", kSort},
    {"deviceselect", kSort},
    {"devicepartition", kSort},
    {"runlength", kSort},
    {"scan_kernel", kSort},
    {"scan_dim", kSort},
    {"lookback_scan", kSort},
    {"cumsum", kSort},
    {"cumprod", kSort},
    {"unique", kSort},
    {"kthvalue", kSort},

    {"catarray", kCopy},
    {"memcpy", kCopy},
    {"memset", kCopy},
    {"copy_kernel", kCopy},
    {"copy_device_to_device", kCopy},
    {"copy_async", kCopy},
    {"rocclr_copy", kCopy},
    {"rocclr_fill", kCopy},
    {"batchedcopy", kCopy},
    {"index_copy", kCopy},
    {"fillfunctor", kCopy},
    {"fill_kernel", kCopy},
    {"index_kernel", kCopy},
    {"index_elementwise", kCopy},
    {"index_put", kCopy},
    {"index_select", kCopy},
    {"indexselect", kCopy},
    {"indexfunc", kCopy},
    {"indexing_backward", kCopy},
    {"gather", kCopy},
    {"scatter", kCopy},
    {"transpose", kCopy},
    {"permute", kCopy},
    {"tensortransform", kCopy},
    {"subtensoropwithcast", kCopy},  // MIOpen
    {"constant_pad", kCopy},
    {"reflection_pad", kCopy},
    {"replication_pad", kCopy},
    {"addpaddingkernel", kCopy},
    {"roll_cuda", kCopy},
    {"flip_kernel", kCopy},

    {"reduce", kReduction},
    {"reduction", kReduction},
    {"softmax", kReduction},
    {"nllcriterion", kReduction},
    {"nll_loss", kReduction},
    {"cross_entropy", kReduction},
    {"_pool", kReduction},
    {"pooling", kReduction},
    {"normfunctor", kReduction},
    {"argmax", kReduction},
    {"argmin", kReduction},

    {"elementwise", kElementwise},
    {"pointwise", kElementwise},
    {"element_wise", kElementwise},
    {"multi_tensor_apply", kElementwise},
    {"dropout", kElementwise},
    {"act_and_mul", kElementwise},
    {"activation", kElementwise},
    {"swiglu", kElementwise},
    {"silu", kElementwise},
    {"gelu", kElementwise},
    {"relu", kElementwise},
    {"sigmoid", kElementwise},
    {"tanh", kElementwise},
    {"quant", kElementwise},
    {"scalepackedtensor", kElementwise},
    {"opscalar", kElementwise},
    {"optensor", kElementwise},
    {"nonbcast", kElementwise},
};

/// Of operators, as they are in a trace but in small letters; after kOperators.
constexpr NameRule kOperatorRules[] = {
    {"optimizer.step", kOptimizer},
    {"_fused_adam", kOptimizer},
    {"_fused_sgd", kOptimizer},
    {"record_param_comms", kCommunication},
    {"allreduce", kCommunication},
    {"all_reduce", kCommunication},
    {"allgather", kCommunication},
    {"all_gather", kCommunication},
    {"reduce_scatter", kCommunication},
    {"all_to_all", kCommunication},
    {"alltoall", kCommunication},
    {"rotary", kElementwise},
    {"reshape_and_cache", kCopy},
    {"searchsorted", kElementwise},
    {"attention", kAttention},
    {"sdpa", kAttention},
    {"fmha", kAttention},
    {"embedding", kEmbedding},
    {"lookupfunction", kEmbedding},  // FBGEMM's SplitLookupFunction
    {"layer_norm", kNormalization},
    {"layernorm", kNormalization},
    {"batch_norm", kNormalization},
    {"batchnorm", kNormalization},
    {"group_norm", kNormalization},
    {"groupnorm", kNormalization},
    {"instance_norm", kNormalization},
    {"rms_norm", kNormalization},
    {"rmsnorm", kNormalization},
    {"convolution", kConvolution},
    {"conv1d", kConvolution},
    {"conv2d", kConvolution},
    {"conv3d", kConvolution},
    {"conv_transpose", kConvolution},
    {"conv_depthwise", kConvolution},
    {"softmax", kReduction},
    {"nll_loss", kReduction},
    {"nllloss", kReduction},
    {"cross_entropy", kReduction},
    {"_pool", kReduction},
    {"pool2d", kReduction},
    {"gemm", kGemm},
    {"matmul", kGemm},
    {"scaled_mm", kGemm},
    {"moe_forward", kGemm},
};

/// Operators by their whole name, without namespace, underscores around it, "_backward" and the like.
constexpr NameRule kOperators[] = {
    {"mm", kGemm},
    {"addmm", kGemm},
    {"bmm", kGemm},
    {"baddbmm", kGemm},
    {"addbmm", kGemm},
    {"mv", kGemm},
    {"addmv", kGemm},
    {"dot", kGemm},
    {"vdot", kGemm},
    {"addr", kGemm},
    {"linear", kGemm},
    {"einsum", kGemm},
    {"bilinear", kGemm},
    {"sum", kReduction},
    {"mean", kReduction},
    {"amax", kReduction},
    {"amin", kReduction},
    {"max", kReduction},
    {"min", kReduction},
    {"argmax", kReduction},
    {"argmin", kReduction},
    {"all", kReduction},
    {"any", kReduction},
    {"prod", kReduction},
    {"norm", kReduction},
    {"linalg_vector_norm", kReduction},
    {"foreach_norm", kReduction},
    {"var", kReduction},
    {"std", kReduction},
    {"var_mean", kReduction},
    {"logsumexp", kReduction},
    {"mse_loss", kReduction},
    {"copy", kCopy},
    {"to_copy", kCopy},
    {"to", kCopy},
    {"clone", kCopy},
    {"contiguous", kCopy},
    {"cat", kCopy},
    {"stack", kCopy},
    {"fill", kCopy},
    {"zero", kCopy},
    {"index", kCopy},
    {"index_put", kCopy},
    {"index_put_impl", kCopy},
    {"index_copy", kCopy},
    {"index_add", kCopy},
    {"index_select", kCopy},
    {"gather", kCopy},
    {"scatter", kCopy},
    {"scatter_add", kCopy},
    {"constant_pad_nd", kCopy},
    {"roll", kCopy},
    {"flip", kCopy},
    {"repeat", kCopy},
    {"select", kCopy},
    {"slice", kCopy},
    {"local_scalar_dense", kCopy},
    {"item", kCopy},
    {"sort", kSort},
    {"argsort", kSort},
    {"topk", kSort},
    {"cumsum", kSort},
    {"cumprod", kSort},
    {"nonzero", kSort},
    {"masked_select", kSort},
    {"unique", kSort},
    {"unique2", kSort},
    {"unique_dim", kSort},
    {"unique_consecutive", kSort},
    {"kthvalue", kSort},
    {"sorttokens", kSort},
    {"add", kElementwise},
    {"sub", kElementwise},
    {"rsub", kElementwise},
    {"mul", kElementwise},
    {"div", kElementwise},
    {"neg", kElementwise},
    {"abs", kElementwise},
    {"exp", kElementwise},
    {"log", kElementwise},
    {"log2", kElementwise},
    {"sqrt", kElementwise},
    {"rsqrt", kElementwise},
    {"reciprocal", kElementwise},
    {"pow", kElementwise},
    {"sin", kElementwise},
    {"cos", kElementwise},
    {"tanh", kElementwise},
    {"sigmoid", kElementwise},
    {"relu", kElementwise},
    {"threshold", kElementwise},
    {"leaky_relu", kElementwise},
    {"gelu", kElementwise},
    {"silu", kElementwise},
    {"elu", kElementwise},
    {"softplus", kElementwise},
    {"hardtanh", kElementwise},
    {"hardswish", kElementwise},
    {"mish", kElementwise},
    {"clamp", kElementwise},
    {"clamp_min", kElementwise},
    {"clamp_max", kElementwise},
    {"where", kElementwise},
    {"masked_fill", kElementwise},
    {"eq", kElementwise},
    {"ne", kElementwise},
    {"lt", kElementwise},
    {"le", kElementwise},
    {"gt", kElementwise},
    {"ge", kElementwise},
    {"logical_and", kElementwise},
    {"logical_or", kElementwise},
    {"logical_not", kElementwise},
    {"bitwise_and", kElementwise},
    {"bitwise_or", kElementwise},
    {"bitwise_not", kElementwise},
    {"isnan", kElementwise},
    {"isinf", kElementwise},
    {"nan_to_num", kElementwise},
    {"sign", kElementwise},
    {"floor", kElementwise},
    {"ceil", kElementwise},
    {"round", kElementwise},
    {"remainder", kElementwise},
    {"maximum", kElementwise},
    {"minimum", kElementwise},
    {"addcmul", kElementwise},
    {"addcdiv", kElementwise},
    {"lerp", kElementwise},
    {"dropout", kElementwise},
    {"native_dropout", kElementwise},
    {"fused_dropout", kElementwise},
    {"bernoulli", kElementwise},
    {"uniform", kElementwise},
    {"normal", kElementwise},
    {"random", kElementwise},
    {"arange", kElementwise},
    {"tril", kElementwise},
    {"triu", kElementwise},
};

template <std::size_t Count>
std::optional<KernelFamily> first_of(const NameRule (&rules)[Count], std::string_view name) noexcept {
  for (const NameRule& rule : rules)
    if (name.find(rule.part) != std::string_view::npos) return rule.family;
  return std::nullopt;
}

std::string in_small_letters(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// TorchInductor's kernels: triton_<kind>_fused_<operators>_<number>.
std::optional<KernelFamily> family_of_inductor(std::string_view name) noexcept {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const auto is = [&](std::string_view kind) { return name.starts_with(kind); };
  const bool is_template = is("tem_") || is("mm") || is("bmm") || is("conv") || is("flex");
  if (is_template) return has("attention") ? kAttention : has("conv") ? kConvolution : kGemm;
  const bool is_pointwise = is("poi_") || is("for_");
  const bool reduces = is("red_") || is("per_");
  if (!is_pointwise && !reduces) return std::nullopt;
  if (has("_adam")) return kOptimizer;
  if (has("embedding")) return kEmbedding;
  if (is_pointwise) return kElementwise;
  const bool squares = has("_pow") || has("_var") || has("_mul");
  return has("_norm") || (has("rsqrt") && (has("_mean") || has("_var")) && squares) ? kNormalization : kReduction;
}

void cut_front(std::string_view& name, std::string_view part) noexcept {
  if (name.starts_with(part)) name.remove_prefix(part.size());
}
void cut_back(std::string_view& name, std::string_view part) noexcept {
  if (name.ends_with(part)) name.remove_suffix(part.size());
}

/// "add" of "aten::add_" and of "addbackward0".
std::string_view operator_stem(std::string_view name) noexcept {
  cut_front(name, "autograd::engine::evaluate_function: ");
  if (const std::size_t colons = name.rfind("::"); colons != std::string_view::npos) name.remove_prefix(colons + 2);
  while (!name.empty() && name.back() >= '0' && name.back() <= '9' && name.find("backward") != std::string_view::npos)
    name.remove_suffix(1);
  for (const std::string_view end : {"backward", "_backward_data", "_jvp", "_forward", "_out", "_"})
    cut_back(name, end);
  while (!name.empty() && name.front() == '_') name.remove_prefix(1);
  cut_front(name, "foreach_");
  while (!name.empty() && name.back() == '_') name.remove_suffix(1);
  return name;
}

}  // namespace family_names
}  // namespace

std::string_view word_of(KernelFamily family) noexcept {
  constexpr std::string_view kWords[kKernelFamilies] = {"GEMM",          "attention", "convolution", "normalization",
                                                        "elementwise",   "reduction", "embedding",   "optimizer",
                                                        "communication", "copy",      "sort",        "other"};
  const auto number = static_cast<std::size_t>(family);
  return number < kKernelFamilies ? kWords[number] : std::string_view();
}

std::optional<KernelFamily> family_of_kernel(std::string_view name) {
  using namespace family_names;
  if (is_communication(name)) return kCommunication;
  const std::string small = in_small_letters(name);
  if (small.starts_with("triton_"))
    if (const auto family = family_of_inductor(std::string_view(small).substr(7))) return family;
  return first_of(kKernelRules, small);
}

std::optional<KernelFamily> family_of_operator(std::string_view name) {
  using namespace family_names;
  const std::string small = in_small_letters(name);
  const std::string_view stem = operator_stem(small);
  if (stem.starts_with("triton_")) return family_of_inductor(stem.substr(7));
  const auto* const known =
      std::find_if(std::begin(kOperators), std::end(kOperators), [&](const NameRule& one) { return one.part == stem; });
  if (known != std::end(kOperators)) return known->family;
  return first_of(kOperatorRules, small);
}

}  // namespace rangefinder::analysis
