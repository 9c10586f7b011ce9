// SPDX-License-Identifier: MIT
#include "analysis/operators_without_flops.hpp"

namespace rangefinder::analysis {
namespace {

// Words between spaces, without `_` at the end (in place) and without `_backward`.
// Views and shapes.
constexpr std::string_view kViews =
    " _conj _reshape_alias _unsafe_view alias as_strided broadcast_to chunk detach diagonal expand expand_as "
    "flatten is_complex is_floating_point lift_fresh mT matrix_H moveaxis movedim narrow numpy_T permute real "
    "reshape resolve_conj resolve_neg result_type select size slice split split_with_sizes squeeze swapaxes "
    "swapdims sym_size t tensor_split transpose unbind unflatten unfold unsafe_chunk unsafe_split "
    "unsafe_split_with_sizes unsqueeze view view_as view_as_complex view_as_real ";
// Creation, copies and gathers.
constexpr std::string_view kCopies =
    " _cat _chunk_cat _efficientzerotensor _has_compatible_shallow_copy_type _index_put_impl _local_scalar_dense "
    "_pin_memory _to_copy _to_cpu _unsafe_index arange bernoulli cat clone complex concat concatenate "
    "constant_pad_nd contiguous copy data_ptr embedding empty empty_like empty_permuted empty_strided exponential "
    "eye fill flip full full_like gather hstack index index_copy index_fill index_put index_select is_nonzero "
    "is_pinned is_same_size item lift linspace masked_fill masked_scatter masked_select narrow_copy new_empty "
    "new_empty_strided new_full new_ones new_zeros nonzero normal one_hot ones ones_like pad pin_memory rand "
    "rand_like randint randn randn_like random randperm record_stream repeat repeat_interleave resize roll "
    "scalar_tensor scatter select_scatter set slice_scatter split_copy split_with_sizes_copy stack take "
    "take_along_dim to tril triu type_as uniform vstack where zero zeros zeros_like ";
// Element by element.
constexpr std::string_view kElementwise =
    " _fused_dropout _prelu_kernel abs acos acosh addcdiv addcmul asin asinh atan atan2 atanh bitwise_and "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max "
    "clamp_min clip cos cosh deg2rad div divide dropout elu eq erf erfc erfinv exp exp2 expm1 feature_dropout "
    "floor floor_divide fmax fmin fmod frac gcd ge gelu glu greater gt hardshrink hardsigmoid hardswish hardtanh "
    "heaviside hypot isfinite isinf isnan isneginf isposinf le leaky_relu lerp less log log10 log1p log2 "
    "log_sigmoid log_sigmoid_forward logaddexp logical_and logical_not logical_or logical_xor logit lt maximum "
    "minimum mish multiply mvlgamma nan_to_num native_dropout ne neg negative not_equal positive pow prelu "
    "reciprocal relu relu6 remainder round rrelu rsqrt rsub selu sgn sigmoid sign silu sin sinc sinh softplus "
    "softshrink sqrt square sub subtract tan tanh threshold true_divide trunc ";
// Optimizers, element by element.
constexpr std::string_view kOptimizers =
    " _amp_foreach_non_finite_check_and_unscale _amp_update_scale _fused_adagrad _fused_adam _fused_adamw "
    "_fused_sgd ";

bool has_word(std::string_view words, std::string_view word) noexcept {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1))
    if (words[at - 1] == ' ' && words[at + word.size()] == ' ') return true;
  return false;
}

}  // namespace

bool is_operator_without_flops(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "aten::", kBackward = "_backward", kForeach = "_foreach_";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (name.ends_with(kBackward)) name.remove_suffix(kBackward.size());
  if (name.ends_with('_')) name.remove_suffix(1);
  if (name.starts_with(kForeach) && name != "_foreach_norm") return true;
  // add and mul have a formula; in place torch.profiler counts none.
  return name == "add" || name == "mul" || has_word(kViews, name) || has_word(kCopies, name) ||
         has_word(kElementwise, name) || has_word(kOptimizers, name);
}

}  // namespace rangefinder::analysis
