// SPDX-License-Identifier: MIT
#include "analyses/job_texts.hpp"

#include <iterator>
#include <string>
#include <string_view>

namespace bench {
namespace {

using namespace rangefinder;

struct OperatorText {
  std::string_view outer, inner, node, back, kernel, back_kernel, shapes, types, values;
  std::int64_t length_ns;
  std::uint64_t output_bytes;
  std::uint32_t back_kernels;
};

// A layer of a transformer of width 1024: batches of 4,096 tokens.
constexpr OperatorText kOperators[] = {
    {"aten::layer_norm", "aten::native_layer_norm", "NativeLayerNormBackward0", "aten::native_layer_norm_backward",
     "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
     "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float>",
     "[[8,512,1024],[],[1024],[1024],[]]", R"(["float","ScalarList","float","float","Scalar"])",
     R"(["","[1024]","","","1e-05"])", 9'000, 16u << 20, 2},
    {"aten::linear", "aten::addmm", "AddmmBackward0", "aten::mm",
     "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
     "ampere_bf16_s16816gemm_bf16_256x64_ldg8_f2f_stages_64x3_nn", "[[3072],[4096,1024],[1024,3072],[],[]]",
     R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"])", R"(["","","","1","1"])", 42'000,
     24u << 20, 2},
    {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
     "ScaledDotProductFlashAttentionBackward0", "aten::_scaled_dot_product_flash_attention_backward",
     "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
     "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 64, 128, 8>>",
     "[[8,16,512,64],[8,16,512,64],[8,16,512,64],[],[],[],[]]",
     R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar","",""])", R"(["","","","0.","True","",""])",
     38'000, 8u << 20, 1},
    {"aten::linear", "aten::addmm", "AddmmBackward0", "aten::mm",
     "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
     "ampere_bf16_s16816gemm_bf16_256x64_ldg8_f2f_stages_64x3_nn", "[[1024],[4096,1024],[1024,1024],[],[]]",
     R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"])", R"(["","","","1","1"])", 18'000,
     8u << 20, 2},
    {"aten::dropout", "aten::native_dropout", "NativeDropoutBackward0", "aten::native_dropout_backward",
     "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>",
     "void at::native::vectorized_elementwise_kernel<4, at::native::masked_scale_kernel>", "[[8,512,1024],[],[]]",
     R"(["float","Scalar","Scalar"])", R"(["","0.1","True"])", 6'000, 16u << 20, 1},
    {"aten::add", "aten::add", "AddBackward0", "aten::mul",
     "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
     "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast>",
     "[[8,512,1024],[8,512,1024],[]]", R"(["float","float","Scalar"])", R"(["","","1"])", 7'000, 16u << 20, 1},
    {"aten::gelu", "aten::gelu", "GeluBackward0", "aten::gelu_backward",
     "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>",
     "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl>", "[[8,512,4096],[]]",
     R"(["float",""])", R"(["","none"])", 24'000, 64u << 20, 1},
    {"aten::to", "aten::_to_copy", "ToCopyBackward0", "aten::_to_copy",
     "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>",
     "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>", "[[8,512,1024],[],[],[],[]]",
     R"(["float","Scalar","","","Scalar"])", R"(["","15","","","False"])", 4'000, 8u << 20, 1},
};

constexpr std::string_view kGraphKernels[] = {
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<LpNormFunctor<float>>",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t>>",
};

JobOperator operator_of(Timeline& timeline, const OperatorText& text) {
  const auto id = [&](std::string_view words) { return timeline.intern(words); };
  JobOperator made;
  made.outer = id(text.outer);
  made.inner = id(text.inner);
  made.evaluate = id("autograd::engine::evaluate_function: " + std::string(text.node));
  made.node = id(text.node);
  made.back = id(text.back);
  made.kernel = id(text.kernel);
  made.back_kernel = id(text.back_kernel);
  made.shapes = id(text.shapes);
  made.types = id(text.types);
  made.values = id(text.values);
  made.length_ns = text.length_ns;
  made.output_bytes = text.output_bytes;
  made.back_kernels = text.back_kernels;
  // A configuration of its own: blocks by the elements that it writes.
  made.detail = static_cast<std::uint32_t>(timeline.kernel_details.size());
  KernelDetail& detail = timeline.kernel_details.emplace_back();
  detail.grid[0] = static_cast<std::uint32_t>(text.output_bytes / 65536);
  detail.grid[1] = detail.grid[2] = detail.block[1] = detail.block[2] = 1;
  detail.block[0] = 256;
  detail.registers_per_thread = text.length_ns > 10'000 ? 168 : 32;
  detail.dynamic_shared_bytes = text.length_ns > 10'000 ? 81'920 : 0;
  return made;
}

}  // namespace

JobTexts::JobTexts(Timeline& timeline) {
  const auto id = [&](std::string_view words) { return timeline.intern(words); };
  for (const OperatorText& text : kOperators) operators.push_back(operator_of(timeline, text));
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) layers[layer] = id("layer." + std::to_string(layer));
  for (std::uint32_t node = 0; node < kGraphNodes; ++node)
    graph_kernels.push_back(id(kGraphKernels[node % std::size(kGraphKernels)]));
  step = id("step"), data = id("data"), forward = id("forward"), backward = id("backward");
  optimizer = id("optimizer"), capture = id("capture"), fetch = id("fetch_batch"), loss = id("loss");
  launch_kernel = id("cudaLaunchKernel"), launch_graph = id("cudaGraphLaunch"), malloc = id("cudaMalloc");
  memcpy_async = id("cudaMemcpyAsync"), memset_async = id("cudaMemsetAsync");
  record_event = id("cudaEventRecord"), stream_wait_event = id("cudaStreamWaitEvent");
  stream_synchronize = id("cudaStreamSynchronize"), event_query = id("cudaEventQuery");
  copy_in = id("Memcpy HtoD (Pinned -> Device)"), copy_out = id("Memcpy DtoH (Device -> Pageable)");
  clear = id("Memset (Device)");
  all_reduce = id("allreduce"), send = id("send"), receive = id("recv"), dtype = id("Float");
  all_reduce_kernel = id("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  message_kernel = id("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  flush = id("Activity Buffer Request"), allocated = id("cuda:0 allocated bytes");
  reserved = id("cuda:0 reserved bytes"), dram_read = id("dram_read_bytes"), dram_write = id("dram_write_bytes");
  sm_active = id("sm_active_ratio");
}

}  // namespace bench
