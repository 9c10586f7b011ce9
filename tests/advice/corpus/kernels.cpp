// SPDX-License-Identifier: MIT
#include "advice/corpus/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

struct MathFacts {
  const char* type;
  const char* gemm;
  const char* convolution;  // %s: the pass
  double flops;             // a nanosecond, as good kernels reach them
  std::uint32_t block;
  std::uint32_t registers;
  std::uint32_t shared_bytes;
};

const MathFacts& facts(Math math) {
  static const MathFacts kFacts[] = {
      {"c10::BFloat16",
       "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__"
       "5x_cublas",
       "sm80_xmma_%s_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_stage3_warpsize2x2x1_g1_"
       "tensor16x8x16_kernel_cudnn",
       0.66 * kBf16Flops, 384, 168, 213'000},
      {"c10::BFloat16",
       "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x1_tn_align1>(T1::Params)",
       "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616%s_bf16_16x16_128x1_align1>(T1::Params)",
       0.24 * kBf16Flops, 256, 168, 100'000},
      {"float", "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_warpsize2x2x1_tensor16x8x8_kernel",
       "sm80_xmma_%s_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage3_warpsize2x2x1_g1_"
       "tensor16x8x8_kernel_cudnn",
       0.66 * kTf32Flops, 256, 180, 98'304},
      {"float", "ampere_sgemm_128x64_tn", "implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, %s>",
       0.8 * kFp32Flops, 256, 122, 32'768},
      {"c10::Half", "void gemmSN_TN_kernel<__half, 256, 4, 2, 8, 4, 4, false>(cublasGemmSmallNParams<__half>)",
       "implicit_convolve_sgemm<__half, __half, 128, 5, 5, 3, 3, 3, 1, %s>", 0.5 * kFp32Flops, 256, 122, 32'768},
  };
  return kFacts[static_cast<std::size_t>(math)];
}

/// A persistent kernel has a block for each multiprocessor; others a tile of about 128x128 for each block, of such a
/// shape, out of those that the library has, that the last wave is full.
std::uint32_t blocks_of(std::int64_t m, std::int64_t n, bool persistent) {
  if (persistent) return kMultiprocessors;
  const double waves = static_cast<double>(m) / 128 * static_cast<double>(n) / 128 / (2 * kMultiprocessors);
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(waves))) * 2 * kMultiprocessors;
}

double memory_us(double bytes) { return 1.6 + bytes / (0.82 * kMemoryBytes) / 1000; }

}  // namespace

const char* type_name(Math math) { return facts(math).type; }

Kernel gemm_kernel(std::int64_t m, std::int64_t n, std::int64_t k, Math math) {
  const MathFacts& of = facts(math);
  const auto dm = static_cast<double>(m), dn = static_cast<double>(n), dk = static_cast<double>(k);
  const double element = math == Math::kTf32 || math == Math::kFp32 ? 4 : 2;
  const double us = std::max(2 * dm * dn * dk / of.flops / 1000, memory_us(element * (dm * dk + dk * dn + dm * dn)));
  return {of.gemm, us + 1.5, blocks_of(m, n, math == Math::kBf16), of.block, of.registers, of.shared_bytes};
}

Kernel convolution_kernel(double flops, const char* pass, Math math) {
  const MathFacts& of = facts(math);
  std::string name = of.convolution;
  name.replace(name.find("%s"), 2, pass);
  return {name, flops / (0.8 * of.flops) / 1000 + 2, 16 * kMultiprocessors, of.block, of.registers, of.shared_bytes};
}

Kernel attention_kernel(double flops, bool backward) {
  if (backward)
    return {
        "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, "
        "2, 4, 2, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false>(pytorch_flash::"
        "Flash_bwd_params)",
        flops / (0.38 * kBf16Flops) / 1000 + 2,
        8 * kMultiprocessors,
        256,
        255,
        147'456};
  return {
      "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::"
      "bfloat16_t>, false, true, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)",
      flops / (0.45 * kBf16Flops) / 1000 + 2,
      16 * kMultiprocessors,
      128,
      255,
      65'536};
}

Kernel elementwise_kernel(const std::string& functor, double bytes) {
  const auto blocks = static_cast<std::uint32_t>(std::max(1.0, std::ceil(bytes / 4 / 1024)));
  return {"void at::native::vectorized_elementwise_kernel<8, at::native::" + functor +
              ", std::array<char*, 2ul> >(int, at::native::" + functor + ", std::array<char*, 2ul>)",
          memory_us(bytes),
          blocks,
          128,
          32,
          0};
}

Kernel streaming_kernel(const std::string& name, double bytes, std::uint32_t block) {
  const auto blocks = static_cast<std::uint32_t>(std::max(1.0, std::ceil(bytes / 16 / block)));
  return {name, memory_us(bytes), blocks, block, 32, 0};
}

Kernel fused_kernel(const std::string& operators, double bytes) {
  return streaming_kernel("triton_poi_fused_" + operators + "_0", bytes);
}

// ---- operators -----------------------------------------------------------------------------------------------------

std::string shapes_of(std::initializer_list<Shape> shapes) {
  std::string text = "[";
  for (const Shape& shape : shapes) {
    text += text.size() > 1 ? ",[" : "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
    text += ']';
  }
  return text + ']';
}

std::string types_of(const char* type, int times, int scalars) {
  std::string text = "[";
  for (int i = 0; i < times + scalars; ++i) {
    text += i > 0 ? ",\"" : "\"";
    text += i < times ? type : "Scalar";
    text += '"';
  }
  return text + ']';
}

Op linear_op(std::int64_t m, std::int64_t n, std::int64_t k, Math math) {
  return {"aten::linear",
          "aten::addmm",
          shapes_of({{n}, {m, k}, {k, n}, {}, {}}),
          types_of(type_name(math), 3, 2),
          {gemm_kernel(m, n, k, math)}};
}

std::vector<Op> linear_backward_ops(std::int64_t m, std::int64_t n, std::int64_t k, Math math) {
  const std::string node = autograd_node("AddmmBackward0");
  const std::string types = types_of(type_name(math), 2);
  return {
      {node, "aten::mm", shapes_of({{m, n}, {n, k}}), types, {gemm_kernel(m, k, n, math)}},
      {node, "aten::mm", shapes_of({{n, m}, {m, k}}), types, {gemm_kernel(n, k, m, math)}},
      {node,
       "aten::sum",
       shapes_of({{m, n}, {}, {}, {}}),
       types_of(type_name(math), 1, 3),
       {streaming_kernel("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::"
                         "func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, "
                         "c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
                         "c10::BFloat16, 4, 4> >",
                         2.0 * static_cast<double>(m * n))}}};
}

Op elementwise_op(const std::string& name, const std::string& functor, const Shape& shape, Math math, int inputs) {
  double bytes = math == Math::kTf32 || math == Math::kFp32 ? 4 : 2;
  bytes *= inputs + 1;
  for (const std::int64_t size : shape) bytes *= static_cast<double>(size);
  const std::string shapes = inputs == 1 ? shapes_of({shape}) : shapes_of({shape, shape});
  return {name, "", shapes, types_of(type_name(math), inputs), {elementwise_kernel(functor, bytes)}};
}

Op simple_op(const std::string& name, const Shape& shape, Kernel kernel) {
  return {name, "", shapes_of({shape}), types_of(type_name(Math::kBf16), 1), {std::move(kernel)}};
}

Op layer_norm_op(std::int64_t rows, std::int64_t width, Math math) {
  return {
      "aten::layer_norm",
      "aten::native_layer_norm",
      shapes_of({{rows, width}, {}, {width}, {width}, {}}),
      types_of(type_name(math), 1, 4),
      {streaming_kernel("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>",
                        2 * bytes_of(rows * width, math))}};
}

Op layer_norm_backward_op(std::int64_t rows, std::int64_t width, Math math) {
  return {autograd_node("NativeLayerNormBackward0"),
          "aten::native_layer_norm_backward",
          shapes_of({{rows, width}, {rows, width}}),
          types_of(type_name(math), 2),
          {streaming_kernel("void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<"
                            "c10::BFloat16, float>",
                            3 * bytes_of(rows * width, math)),
           streaming_kernel("void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<"
                            "c10::BFloat16, float, 32u, 8u, 64u, false, true, true>",
                            2 * bytes_of(rows * width, math))}};
}

Op attention_op(std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t width, bool backward) {
  const Shape shape{batch, heads, sequence, width / heads};
  const double flops = 2.0 * static_cast<double>(batch * sequence) * static_cast<double>(sequence * width);
  if (backward)
    return {autograd_node("ScaledDotProductFlashAttentionBackward0"),
            "aten::_flash_attention_backward",
            shapes_of({shape, shape, shape, shape}),
            types_of(type_name(Math::kBf16), 4),
            {attention_kernel(2.5 * flops, true)}};
  return {"aten::scaled_dot_product_attention",
          "aten::_flash_attention_forward",
          shapes_of({shape, shape, shape}),
          types_of(type_name(Math::kBf16), 3),
          {attention_kernel(flops, false)}};
}

std::string autograd_node(const std::string& function) { return "autograd::engine::evaluate_function: " + function; }

double bytes_of(std::int64_t elements, Math math) {
  return static_cast<double>(elements) * (math == Math::kTf32 || math == Math::kFp32 ? 4 : 2);
}

void append(std::vector<Op>& to, std::vector<Op> ops) {
  to.insert(to.end(), std::make_move_iterator(ops.begin()), std::make_move_iterator(ops.end()));
}

}  // namespace rangefinder::testing::corpus
