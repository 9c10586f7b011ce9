// SPDX-License-Identifier: MIT
#include "advice/corpus/fourth_models.hpp"

#include <string>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

constexpr char kAdd[] = "CUDAFunctor_add<c10::BFloat16>";
constexpr char kScale[] = "AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, MulFunctor<float> >";
constexpr char kProduct[] = "BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, MulFunctor<float> >";

Op residual(std::int64_t rows, std::int64_t width) {
  return elementwise_op("aten::add", kAdd, {rows, width}, Math::kBf16, 2);
}

Op compiled(bool backward, const Shape& shape, const std::string& operators, double bytes) {
  return simple_op(backward ? autograd_node("CompiledFunctionBackward") : "CompiledFunction", shape,
                   fused_kernel(operators, bytes));
}

/// The sum of a gradient over rows.
Op sum_of_rows(const std::string& node, std::int64_t rows, std::int64_t width) {
  return simple_op(autograd_node(node), {rows, width},
                   streaming_kernel("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
                                    "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, "
                                    "float, c10::BFloat16> >, unsigned int, c10::BFloat16, 4, 4> >",
                                    bytes_of(rows * width)));
}

/// What comes last forward goes back first.
void go_back_first(Layer& layer, std::vector<Op> backward) {
  append(backward, std::move(layer.backward));
  layer.backward = std::move(backward);
}

void add_part(Layer& layer, std::vector<Op> forward, std::vector<Op> backward) {
  append(layer.forward, std::move(forward));
  go_back_first(layer, std::move(backward));
}

// ---- speech --------------------------------------------------------------------------------------------------------

void add_feed_forward(Layer& layer, const ConformerShape& s) {
  const std::int64_t rows = s.rows, d = s.width;
  const Math m = s.feed_forward;
  append(layer.forward, {layer_norm_op(rows, d, Math::kBf16), linear_op(rows, 4 * d, d, m),
                         elementwise_op("aten::silu", "silu_kernel", {rows, 4 * d}, m), linear_op(rows, d, 4 * d, m),
                         residual(rows, d)});
  std::vector<Op> backward = linear_backward_ops(rows, d, 4 * d, m);
  backward.push_back(elementwise_op(autograd_node("SiluBackward0"), "silu_backward_kernel", {rows, 4 * d}, m, 2));
  append(backward, linear_backward_ops(rows, 4 * d, d, m));
  append(backward, {layer_norm_backward_op(rows, d, Math::kBf16), residual(rows, d)});
  go_back_first(layer, std::move(backward));
}

void add_attention(Layer& layer, const ConformerShape& s) {
  const std::int64_t rows = s.rows, d = s.width, heads = d / 64;
  const Math m = Math::kBf16;
  append(layer.forward,
         {layer_norm_op(rows, d, m), linear_op(rows, 3 * d, d, m),
          attention_op(rows / s.frames, heads, s.frames, d, false), linear_op(rows, d, d, m), residual(rows, d)});
  std::vector<Op> backward = linear_backward_ops(rows, d, d, m);
  backward.push_back(attention_op(rows / s.frames, heads, s.frames, d, true));
  append(backward, linear_backward_ops(rows, 3 * d, d, m));
  append(backward, {layer_norm_backward_op(rows, d, m), residual(rows, d)});
  go_back_first(layer, std::move(backward));
}

/// A gate, 31 frames of each channel, and a norm.
void add_convolution_along_time(Layer& layer, const ConformerShape& s) {
  const std::int64_t rows = s.rows, d = s.width;
  const Math m = Math::kBf16;
  const double bytes = bytes_of(rows * d);
  const auto along_time = [&](const std::string& op, const std::string& kernel, double passes) {
    return simple_op(op, {rows / s.frames, d, s.frames}, streaming_kernel(kernel, passes * bytes));
  };
  append(layer.forward,
         {layer_norm_op(rows, d, m), linear_op(rows, 2 * d, d, m),
          along_time("aten::glu", "void at::native::unrolled_elementwise_kernel<at::native::glu_kernel>", 3),
          along_time("aten::conv1d",
                     "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel_generic<c10::BFloat16, "
                     "int>",
                     3.2),
          along_time("aten::batch_norm",
                     "void at::native::batch_norm_transform_input_channels_last_kernel<c10::BFloat16, float, float, 4>",
                     2),
          linear_op(rows, d, d, m), residual(rows, d)});
  std::vector<Op> backward = linear_backward_ops(rows, d, d, m);
  append(backward,
         {along_time(autograd_node("CudnnBatchNormBackward0"),
                     "void at::native::batch_norm_backward_elemt_channels_last_kernel<4, c10::BFloat16, float>", 3),
          along_time(autograd_node("ConvolutionBackward0"),
                     "void at::native::(anonymous namespace)::conv_depthwise2d_backward_kernel<31, 1, c10::BFloat16, "
                     "int>",
                     5),
          along_time(autograd_node("GluBackward0"), "void at::native::glu_backward_kernel<c10::BFloat16, float>", 5)});
  append(backward, linear_backward_ops(rows, 2 * d, d, m));
  append(backward, {layer_norm_backward_op(rows, d, m), residual(rows, d)});
  go_back_first(layer, std::move(backward));
}

// ---- diffusion -----------------------------------------------------------------------------------------------------

/// norm(x) * (1 + scale) + shift.
void add_modulation(Layer& layer, const DiffusionShape& s) {
  const std::int64_t rows = s.images * s.patches, d = s.width;
  const Math m = Math::kBf16;
  const double bytes = bytes_of(rows * d);
  if (s.fused) {
    layer.forward.push_back(compiled(false, {rows, d}, "add_mul_native_layer_norm", 2 * bytes));
    layer.backward.insert(layer.backward.begin(),
                          compiled(true, {rows, d}, "add_mul_native_layer_norm_backward_sum", 4 * bytes));
    return;
  }
  append(layer.forward,
         {layer_norm_op(rows, d, m), elementwise_op("aten::add", kAdd, {s.images, d}, m),
          elementwise_op("aten::mul", kScale, {rows, d}, m), elementwise_op("aten::add", kAdd, {rows, d}, m)});
  std::vector<Op> backward{sum_of_rows("AddBackward0", rows, d),
                           elementwise_op(autograd_node("MulBackward0"), kScale, {rows, d}, m),
                           elementwise_op(autograd_node("MulBackward0"), kProduct, {rows, d}, m, 2),
                           sum_of_rows("MulBackward0", rows, d),
                           layer_norm_backward_op(rows, d, m),
                           residual(rows, d)};
  go_back_first(layer, std::move(backward));
}

/// x + gate * y.
void add_gate(Layer& layer, const DiffusionShape& s) {
  const std::int64_t rows = s.images * s.patches, d = s.width;
  const Math m = Math::kBf16;
  const double bytes = bytes_of(rows * d);
  if (s.fused) {
    layer.forward.push_back(compiled(false, {rows, d}, "add_mul", 3 * bytes));
    layer.backward.insert(layer.backward.begin(), compiled(true, {rows, d}, "mul_sum", 3 * bytes));
    return;
  }
  append(layer.forward, {elementwise_op("aten::mul", kScale, {rows, d}, m), residual(rows, d)});
  std::vector<Op> backward{elementwise_op(autograd_node("MulBackward0"), kScale, {rows, d}, m),
                           elementwise_op(autograd_node("MulBackward0"), kProduct, {rows, d}, m, 2),
                           sum_of_rows("MulBackward0", rows, d)};
  go_back_first(layer, std::move(backward));
}

Layer diffusion_block(const DiffusionShape& s, std::int64_t index) {
  const std::int64_t rows = s.images * s.patches, d = s.width;
  const Math m = Math::kBf16;
  Layer layer{"blocks." + std::to_string(index), {}, {}, 18 * d * d};
  add_part(layer, {linear_op(s.images, 6 * d, d, s.condition_math)},
           linear_backward_ops(s.images, 6 * d, d, s.condition_math));
  add_modulation(layer, s);
  std::vector<Op> back = linear_backward_ops(rows, d, d, m);
  back.push_back(attention_op(s.images, d / 64, s.patches, d, true));
  append(back, linear_backward_ops(rows, 3 * d, d, m));
  add_part(
      layer,
      {linear_op(rows, 3 * d, d, m), attention_op(s.images, d / 64, s.patches, d, false), linear_op(rows, d, d, m)},
      std::move(back));
  add_gate(layer, s);
  add_modulation(layer, s);
  back = linear_backward_ops(rows, d, 4 * d, m);
  back.push_back(elementwise_op(autograd_node("GeluBackward0"), "GeluBackwardCUDAKernelImpl", {rows, 4 * d}, m, 2));
  append(back, linear_backward_ops(rows, 4 * d, d, m));
  add_part(layer,
           {linear_op(rows, 4 * d, d, m), elementwise_op("aten::gelu", "GeluCUDAKernelImpl", {rows, 4 * d}, m),
            linear_op(rows, d, 4 * d, m)},
           std::move(back));
  add_gate(layer, s);
  return layer;
}

// ---- state space ---------------------------------------------------------------------------------------------------

Op scan_by_chunks(const StateSpaceShape& s, bool backward) {
  const double bytes = bytes_of(s.rows * 2 * s.width);
  const std::vector<std::pair<const char*, double>> kernels =
      backward ? std::vector<std::pair<const char*, double>>{{"_chunk_scan_bwd_dstates_kernel", 1.6},
                                                             {"_state_passing_bwd_kernel", 0.6},
                                                             {"_chunk_scan_chunk_state_bwd_dx_kernel", 3},
                                                             {"_chunk_state_bwd_db_kernel", 1.4},
                                                             {"_chunk_scan_bwd_dcb_kernel", 1.4},
                                                             {"_chunk_cumsum_bwd_kernel", 0.3}}
               : std::vector<std::pair<const char*, double>>{{"_chunk_cumsum_fwd_kernel", 0.2},
                                                             {"_chunk_state_fwd_kernel", 1.3},
                                                             {"_state_passing_fwd_kernel", 0.5},
                                                             {"_bmm_chunk_fwd_kernel", 0.3},
                                                             {"_chunk_scan_fwd_kernel", 2.6}};
  Op op = simple_op(backward ? autograd_node("MambaChunkScanCombinedFnBackward") : "MambaChunkScanCombinedFn",
                    {s.rows, 2 * s.width}, {});
  op.kernels.clear();
  for (const auto& [name, passes] : kernels) op.kernels.push_back(streaming_kernel(name, passes * bytes, 128));
  return op;
}

Layer state_space_layer(const StateSpaceShape& s, std::int64_t index) {
  const std::int64_t rows = s.rows, d = s.width, inner = 2 * d, projected = 2 * inner + 320;
  const Math m = Math::kBf16;
  const double bytes = bytes_of(rows * d);
  Layer layer{"backbone.layers." + std::to_string(index) + ".mixer", {}, {}, d * (projected + inner)};
  const std::string convolution = "_kernel<Causal_conv1d_channellast_kernel_traits<128, 4, 64, true, c10::BFloat16> >";
  layer.forward = {simple_op("LayerNormFn", {rows, d}, streaming_kernel("_layer_norm_fwd_1pass_kernel", 4 * bytes)),
                   linear_op(rows, projected, d, m),
                   simple_op("CausalConv1dFn", {rows, inner},
                             streaming_kernel("void causal_conv1d_channellast_fwd" + convolution, 4.4 * bytes, 128)),
                   scan_by_chunks(s, false),
                   simple_op("LayerNormFn", {rows, inner}, streaming_kernel("_layer_norm_fwd_1pass_kernel", 6 * bytes)),
                   linear_op(rows, d, inner, m)};
  layer.backward = linear_backward_ops(rows, d, inner, m);
  append(layer.backward,
         {simple_op(autograd_node("LayerNormFnBackward"), {rows, inner},
                    streaming_kernel("_layer_norm_bwd_kernel", 10 * bytes)),
          scan_by_chunks(s, true),
          simple_op(autograd_node("CausalConv1dFnBackward"), {rows, inner},
                    streaming_kernel("void causal_conv1d_channellast_bwd" + convolution, 6.4 * bytes, 128))});
  append(layer.backward, linear_backward_ops(rows, projected, d, m));
  layer.backward.push_back(simple_op(autograd_node("LayerNormFnBackward"), {rows, d},
                                     streaming_kernel("_layer_norm_bwd_kernel", 6 * bytes)));
  return layer;
}

// ---- proteins ------------------------------------------------------------------------------------------------------

/// Two gated projections, their product along the third residue, and a gate.
void add_triangle_product(Layer& layer, const FoldingShape& s) {
  const std::int64_t pairs = s.residues * s.residues, c = s.width;
  const Math m = Math::kBf16;
  const double bytes = bytes_of(pairs * c);
  const Op product{"aten::einsum",
                   "aten::bmm",
                   shapes_of({{c, s.residues, s.residues}, {c, s.residues, s.residues}}),
                   types_of(type_name(m), 2),
                   {gemm_kernel(c * s.residues, s.residues, s.residues, m)}};
  Op one = product;
  one.name = autograd_node("BmmBackward0");
  std::vector<Op> back = linear_backward_ops(pairs, c, c, m);
  append(back,
         {layer_norm_backward_op(pairs, c, m), one, one, compiled(true, {pairs, 4 * c}, "mul_sigmoid", 7 * bytes)});
  append(back, linear_backward_ops(pairs, 4 * c, c, m));
  append(back, {layer_norm_backward_op(pairs, c, m)});
  add_part(layer,
           {layer_norm_op(pairs, c, m), linear_op(pairs, 4 * c, c, m),
            compiled(false, {pairs, 4 * c}, "mul_sigmoid", 6 * bytes), product, layer_norm_op(pairs, c, m),
            linear_op(pairs, c, c, m), compiled(false, {pairs, c}, "add_mul_sigmoid", 4 * bytes)},
           std::move(back));
}

void add_triangle_attention(Layer& layer, const FoldingShape& s) {
  const std::int64_t pairs = s.residues * s.residues, c = s.width;
  const Math m = Math::kBf16;
  std::vector<Op> back = linear_backward_ops(pairs, c, c, m);
  back.push_back(attention_op(s.residues, 4, s.residues, c, true));
  append(back, linear_backward_ops(pairs, 3 * c, c, m));
  append(back, {layer_norm_backward_op(pairs, c, m)});
  add_part(
      layer,
      {layer_norm_op(pairs, c, m), linear_op(pairs, 3 * c, c, m), attention_op(s.residues, 4, s.residues, c, false),
       linear_op(pairs, c, c, m), compiled(false, {pairs, c}, "add_mul_sigmoid", 4 * bytes_of(pairs * c))},
      std::move(back));
}

void add_transition(Layer& layer, const FoldingShape& s, Math m) {
  const std::int64_t pairs = s.residues * s.residues, c = s.width;
  std::vector<Op> back = linear_backward_ops(pairs, c, 4 * c, m);
  back.push_back(elementwise_op(autograd_node("SiluBackward0"), "silu_backward_kernel", {pairs, 4 * c}, m, 2));
  append(back, linear_backward_ops(pairs, 4 * c, c, m));
  append(back, {layer_norm_backward_op(pairs, c, Math::kBf16)});
  add_part(layer,
           {layer_norm_op(pairs, c, Math::kBf16), linear_op(pairs, 4 * c, c, m),
            elementwise_op("aten::silu", "silu_kernel", {pairs, 4 * c}, m), linear_op(pairs, c, 4 * c, m),
            residual(pairs, c)},
           std::move(back));
}

// ---- point clouds --------------------------------------------------------------------------------------------------

Op sparse_product(const VoxelShape& s, const std::string& op, std::int64_t m, std::int64_t n, std::int64_t k) {
  Kernel kernel = gemm_kernel(m, n, k, Math::kBf16);
  kernel.name = "void cutlass::Kernel<cutlass_tensorop_bf16_s16816gather_scatter_gemm_bf16_128x64_32x4_nt_align8>";
  return {op,
          "",
          shapes_of({{s.voxels, s.channels}, {27, s.channels, s.channels}}),
          types_of("c10::BFloat16", 2),
          {kernel}};
}

Layer voxel_layer(const VoxelShape& s, std::int64_t index) {
  const std::int64_t rows = s.voxels, c = s.channels;
  const double bytes = bytes_of(rows * c);
  Layer layer{"backbone.conv" + std::to_string(1 + index / 4) + "." + std::to_string(index % 4), {}, {}, 27 * c * c};
  layer.forward = {sparse_product(s, "spconv::implicit_gemm", rows, c, 27 * c),
                   simple_op("aten::batch_norm", {rows, c},
                             streaming_kernel("void at::native::batch_norm_collect_statistics_channels_last_kernel<"
                                              "at::native::Var, c10::BFloat16, float, 4>",
                                              3 * bytes)),
                   elementwise_op("aten::relu_", "launch_clamp_scalar", {rows, c}, Math::kBf16)};
  layer.backward = {elementwise_op(autograd_node("ReluBackward0"), "threshold_kernel_impl", {rows, c}, Math::kBf16, 2),
                    simple_op(autograd_node("NativeBatchNormBackward0"), {rows, c},
                              streaming_kernel("void at::native::batch_norm_backward_reduce_channels_last_kernel<4, "
                                               "c10::BFloat16, float, float>",
                                               5 * bytes)),
                    sparse_product(s, autograd_node("ImplicitGemmBackward"), rows, c, 27 * c),
                    sparse_product(s, autograd_node("ImplicitGemmBackward"), 27 * c, c, rows)};
  return layer;
}

}  // namespace

Model conformer(const ConformerShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.rows * 4 * 80 * 4);
  for (std::int64_t i = 0; i < s.layers; ++i) {
    Layer layer{"encoder.layers." + std::to_string(i), {}, {}, 23 * s.width * s.width};
    add_feed_forward(layer, s);
    add_attention(layer, s);
    add_convolution_along_time(layer, s);
    add_feed_forward(layer, s);
    model.layers.push_back(std::move(layer));
  }
  return model;
}

Model diffusion_transformer(const DiffusionShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.images * 4 * 32 * 32 * 4);
  for (std::int64_t i = 0; i < s.blocks; ++i) model.layers.push_back(diffusion_block(s, i));
  return model;
}

Model state_space(const StateSpaceShape& s) {
  Model model = transformer({1, s.rows / 4096, 4096, s.width, s.width / 128, s.vocabulary, Math::kBf16, s.head_math});
  model.layers.erase(model.layers.begin() + 1);
  for (std::int64_t i = 0; i < s.layers; ++i) model.layers.insert(model.layers.end() - 1, state_space_layer(s, i));
  model.layers.front().name = "backbone.embedding";
  model.layers.back().name = "lm_head";
  return model;
}

Model pair_former(const FoldingShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.residues * s.residues * 64 * 2);
  for (std::int64_t i = 0; i < s.blocks; ++i) {
    Layer layer{"trunk.pairformer." + std::to_string(i), {}, {}, 40 * s.width * s.width};
    for (int direction = 0; direction < 2; ++direction) add_triangle_product(layer, s);
    for (int direction = 0; direction < 2; ++direction) add_triangle_attention(layer, s);
    add_transition(layer, s, i == 1 ? s.transition : Math::kBf16);
    model.layers.push_back(std::move(layer));
  }
  return model;
}

Model voxel_net(const VoxelShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.voxels * 5 * 4);
  for (std::int64_t i = 0; i < s.layers; ++i) model.layers.push_back(voxel_layer(s, i));
  return model;
}

std::vector<Op> lion_ops(std::int64_t groups, std::int64_t parameters, bool fused) {
  const Math m = Math::kFp32;
  const Shape shape{parameters};
  std::vector<Op> ops;
  for (std::int64_t group = 0; group < groups; ++group) {
    if (fused) {
      ops.push_back({"CompiledFunction",
                     "",
                     shapes_of({shape, shape, shape}),
                     types_of("float", 3),
                     {fused_kernel("add_lerp_mul_sign", 5 * bytes_of(parameters, m))}});
      continue;
    }
    append(ops, {elementwise_op("aten::mul_", "AUnaryFunctor<float, float, float, MulFunctor<float> >", shape, m),
                 elementwise_op("aten::mul", "AUnaryFunctor<float, float, float, MulFunctor<float> >", shape, m),
                 elementwise_op("aten::add_", "CUDAFunctor_add<float>", shape, m, 2),
                 elementwise_op("aten::sign_", "sign_kernel_cuda", shape, m),
                 elementwise_op("aten::add_", "CUDAFunctor_add<float>", shape, m, 2),
                 elementwise_op("aten::lerp_", "lerp_scalar_kernel", shape, m, 2)});
  }
  return ops;
}

}  // namespace rangefinder::testing::corpus
