// SPDX-License-Identifier: MIT
#include "advice/corpus/third_models.hpp"

#include <iterator>
#include <utility>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

const std::string kOfNode = autograd_node("");
constexpr char kHalf[] = "c10::BFloat16";
constexpr char kMulOfTwo[] =
    "BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, binary_internal::MulFunctor<float> >";
constexpr char kAddOfTwo[] = "CUDAFunctor_add<c10::BFloat16>";

double half_bytes(std::int64_t rows, std::int64_t width) { return bytes_of(rows * width); }

Op rms_norm(std::int64_t rows, std::int64_t width, bool backward) {
  return simple_op(backward ? kOfNode + "RMSNormBackward" : "RMSNorm", {rows, width},
                   streaming_kernel(backward ? "void rms_norm_bwd_kernel<__nv_bfloat16, 4, 256>(RmsNormParams)"
                                             : "void rms_norm_fwd_kernel<__nv_bfloat16, 4, 256>(RmsNormParams)",
                                    (backward ? 3 : 2) * half_bytes(rows, width)));
}

// ---- llama ---------------------------------------------------------------------------------------------------------

/// x * cos + rotated x * sin, of queries and keys.
std::vector<Op> rotary(std::int64_t rows, std::int64_t width, bool fused, bool backward) {
  const std::string of = backward ? kOfNode : "aten::";
  const double bytes = half_bytes(rows, width);
  if (fused)
    return {simple_op(backward ? kOfNode + "CompiledFunctionBackward" : "CompiledFunction", {rows, width},
                      fused_kernel("add_mul_rotate", 4 * bytes))};
  std::vector<Op> ops;
  for (int tensor = 0; tensor < 2; ++tensor) {
    for (int product = 0; product < 2; ++product)
      ops.push_back(elementwise_op(of + (backward ? "MulBackward0" : "mul"), kMulOfTwo, {rows, width}, Math::kBf16));
    ops.push_back(elementwise_op(of + (backward ? "AddBackward0" : "add"), kAddOfTwo, {rows, width}, Math::kBf16, 2));
  }
  return ops;
}

/// silu(gate) * up.
std::vector<Op> gated(std::int64_t rows, std::int64_t hidden, bool fused) {
  if (fused)
    return {simple_op("CompiledFunction", {rows, hidden}, fused_kernel("mul_silu", 3 * half_bytes(rows, hidden)))};
  return {elementwise_op("aten::silu", "silu_kernel", {rows, hidden}, Math::kBf16),
          elementwise_op("aten::mul", kMulOfTwo, {rows, hidden}, Math::kBf16, 2)};
}
std::vector<Op> gated_backward(std::int64_t rows, std::int64_t hidden, bool fused) {
  if (fused)
    return {simple_op(kOfNode + "CompiledFunctionBackward", {rows, hidden},
                      fused_kernel("mul_silu_silu_backward", 5 * half_bytes(rows, hidden)))};
  return {elementwise_op(kOfNode + "MulBackward0", kMulOfTwo, {rows, hidden}, Math::kBf16, 2),
          elementwise_op(kOfNode + "MulBackward0", kMulOfTwo, {rows, hidden}, Math::kBf16, 2),
          elementwise_op(kOfNode + "SiluBackward0", "silu_backward_kernel", {rows, hidden}, Math::kBf16, 2)};
}

Op flash(std::int64_t rows, std::int64_t sequence, std::int64_t width, bool backward) {
  return attention_op(rows / sequence, width / 128, sequence, width, backward);
}

Layer llama_layer(const LlamaShape& s, std::int64_t index) {
  const std::int64_t rows = s.rows, d = s.width, h = s.hidden;
  const Math m = Math::kBf16;
  Layer layer{"model.layers." + std::to_string(index), {}, {}, 4 * d * d + 3 * d * h};
  layer.forward = {rms_norm(rows, d, false), linear_op(rows, 3 * d, d, m)};
  append(layer.forward, rotary(rows, d, s.fused, false));
  append(layer.forward, {flash(rows, s.sequence, d, false), linear_op(rows, d, d, m), rms_norm(rows, d, false),
                         linear_op(rows, h, d, m), linear_op(rows, h, d, m)});
  append(layer.forward, gated(rows, h, s.fused));
  layer.forward.push_back(linear_op(rows, d, h, m));

  layer.backward = linear_backward_ops(rows, d, h, m);
  append(layer.backward, gated_backward(rows, h, s.fused));
  for (int i = 0; i < 2; ++i) append(layer.backward, linear_backward_ops(rows, h, d, m));
  layer.backward.push_back(rms_norm(rows, d, true));
  append(layer.backward, linear_backward_ops(rows, d, d, m));
  layer.backward.push_back(flash(rows, s.sequence, d, true));
  append(layer.backward, rotary(rows, d, s.fused, true));
  append(layer.backward, linear_backward_ops(rows, 3 * d, d, m));
  layer.backward.push_back(rms_norm(rows, d, true));
  return layer;
}

// ---- images --------------------------------------------------------------------------------------------------------

void add_convolution(Layer& layer, const UnetShape& s) {
  const Shape image{s.batch, s.channels, s.size, s.size}, weight{s.channels, s.channels, 3, 3};
  const double flops = 18.0 * static_cast<double>(s.batch * s.size * s.size) * static_cast<double>(s.channels) *
                       static_cast<double>(s.channels);
  const char* type = type_name(s.math);
  const double bytes =
      (s.math == Math::kTf32 ? 4.0 : 2.0) * static_cast<double>(s.batch * s.channels * s.size * s.size);
  append(layer.forward,
         {{"aten::group_norm",
           "aten::native_group_norm",
           shapes_of({image, {s.channels}, {s.channels}}),
           types_of(type, 3),
           {streaming_kernel("void group_norm_nhwc_fwd_kernel<32, 512>(GroupNormParams)", 2 * bytes, 512)}},
          {"aten::conv2d",
           "aten::cudnn_convolution",
           shapes_of({image, weight}),
           types_of(type, 2),
           {convolution_kernel(flops, "fprop", s.math)}}});
  layer.backward.insert(
      layer.backward.begin(),
      {{kOfNode + "ConvolutionBackward0",
        "aten::convolution_backward",
        shapes_of({image, image, weight}),
        types_of(type, 3),
        {convolution_kernel(flops, "dgrad", s.math), convolution_kernel(flops, "wgrad", s.math)}},
       {kOfNode + "NativeGroupNormBackward0",
        "aten::native_group_norm_backward",
        shapes_of({image, image}),
        types_of(type, 2),
        {streaming_kernel("void group_norm_nhwc_bwd_kernel<32, 512>(GroupNormParams)", 3 * bytes, 512)}}});
  layer.parameters += 9 * s.channels * s.channels;
}

// ---- graphs --------------------------------------------------------------------------------------------------------

/// Eight blocks fit on a multiprocessor: so many waves, all of them full.
Kernel in_full_waves(Kernel kernel) {
  constexpr std::uint32_t kWave = 8 * kMultiprocessors;
  kernel.grid = (kernel.grid + kWave - 1) / kWave * kWave;
  return kernel;
}

/// Features of the nodes, once for each edge; and the sum of those that come to a node.
Op along_edges(const GraphNetShape& s, const std::string& name) {
  return simple_op(name, {s.nodes, s.width},
                   in_full_waves(streaming_kernel("void at::native::vectorized_gather_kernel<16, long>",
                                                  half_bytes(s.edges, s.width) * 1.5)));
}
Op sum_of_edges(const GraphNetShape& s, const std::string& name) {
  return simple_op(name, {s.edges, s.width},
                   in_full_waves(streaming_kernel("void segment_csr_kernel<c10::BFloat16, (ReductionType)0, 1>",
                                                  half_bytes(s.edges, s.width) * 1.2)));
}

Layer graph_layer(const GraphNetShape& s, std::int64_t index) {
  Layer layer{"GCNConv_" + std::to_string(index), {}, {}, s.width * s.width};
  layer.forward = {linear_op(s.nodes, s.width, s.width, Math::kBf16), along_edges(s, "aten::index_select"),
                   sum_of_edges(s, "torch_scatter::segment_sum_csr"),
                   elementwise_op("aten::relu", "launch_clamp_scalar", {s.nodes, s.width}, Math::kBf16)};
  layer.backward = {
      elementwise_op(kOfNode + "ReluBackward0", "threshold_kernel_impl", {s.nodes, s.width}, Math::kBf16, 2),
      along_edges(s, kOfNode + "SegmentSumCSR"), sum_of_edges(s, kOfNode + "IndexSelectBackward0")};
  append(layer.backward, linear_backward_ops(s.nodes, s.width, s.width, Math::kBf16));
  return layer;
}

// ---- experts -------------------------------------------------------------------------------------------------------

Op grouped_products(std::int64_t tokens, std::int64_t n, std::int64_t k, const std::string& name, int products) {
  Op op{name, "", shapes_of({{tokens, k}, {64, k, n}}), types_of(kHalf, 2), {}};
  Kernel kernel = gemm_kernel(tokens, n, k, Math::kBf16);
  kernel.name =
      "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape, "
      "cutlass_3x_sm90_tensorop_gemm_bf16_128x256x64_warpspecialized> >";
  for (int i = 0; i < products; ++i) op.kernels.push_back(kernel);
  return op;
}

void add_expert_layer(Model& model, const ExpertsShape& s, std::int64_t index) {
  const std::string prefix = "layers." + std::to_string(index) + ".";
  const std::int64_t d = s.width, routed = 2 * s.tokens;
  const Math m = Math::kBf16;
  Layer attention{prefix + "self_attn", {}, {}, 4 * d * d};
  attention.forward = {rms_norm(s.tokens, d, false), linear_op(s.tokens, 3 * d, d, m), flash(s.tokens, 2048, d, false),
                       linear_op(s.tokens, d, d, m)};
  attention.backward = linear_backward_ops(s.tokens, d, d, m);
  attention.backward.push_back(flash(s.tokens, 2048, d, true));
  append(attention.backward, linear_backward_ops(s.tokens, 3 * d, d, m));
  attention.backward.push_back(rms_norm(s.tokens, d, true));

  Layer first{prefix + "shared_expert.up_proj", {linear_op(s.tokens, s.shared, d, m)}, {}, s.shared * d};
  first.backward = linear_backward_ops(s.tokens, s.shared, d, m);

  Layer experts{prefix + "experts", {}, {}, 0};  // their optimizer is another one
  experts.forward = {
      grouped_products(routed, s.hidden, d, "my_ops::grouped_gemm", 1),
      simple_op("my_ops::silu_and_mul", {routed, s.hidden},
                streaming_kernel("void silu_and_mul_kernel<__nv_bfloat16>", 2 * half_bytes(routed, s.hidden))),
      grouped_products(routed, d, s.hidden, "my_ops::grouped_gemm", 1)};
  experts.backward = {
      grouped_products(routed, s.hidden, d, kOfNode + "GroupedGemm", 2),
      simple_op(kOfNode + "SiluAndMul", {routed, s.hidden},
                streaming_kernel("void silu_and_mul_bwd_kernel<__nv_bfloat16>", 3 * half_bytes(routed, s.hidden))),
      grouped_products(routed, d, s.hidden, kOfNode + "GroupedGemm", 2)};

  Layer second{prefix + "shared_expert.down_proj", {linear_op(s.tokens, d, s.shared, m)}, {}, s.shared * d};
  second.backward = linear_backward_ops(s.tokens, d, s.shared, m);
  for (Layer* part : {&attention, &first, &experts, &second}) model.layers.push_back(std::move(*part));
}

}  // namespace

Model llama(const LlamaShape& s) {
  Model model =
      transformer({1, s.rows / s.sequence, s.sequence, s.width, s.width / 128, s.vocabulary, Math::kBf16, s.head_math});
  model.layers.erase(model.layers.begin() + 1);
  for (std::int64_t i = 0; i < s.layers; ++i) model.layers.insert(std::prev(model.layers.end()), llama_layer(s, i));
  model.layers.front().name = "model.embed_tokens";
  model.layers.back().name = "lm_head";
  return model;
}

Model unet(const UnetShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.batch * 4 * s.size * s.size * 8);
  for (std::int64_t i = 0; i < s.blocks; ++i) {
    Layer layer{
        (i < s.blocks / 2 ? "down_blocks." : "up_blocks.") + std::to_string(i % (s.blocks / 2)) + ".resnet", {}, {}, 0};
    for (int convolution = 0; convolution < 2; ++convolution) add_convolution(layer, s);
    model.layers.push_back(std::move(layer));
  }
  return model;
}

Model graph_net(const GraphNetShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.nodes * 16);
  for (std::int64_t i = 0; i < s.layers; ++i) model.layers.push_back(graph_layer(s, i));
  return model;
}

Model mixture_of_experts(const ExpertsShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.tokens * 16);
  for (std::int64_t i = 0; i < s.layers; ++i) add_expert_layer(model, s, i);
  return model;
}

Model click_through(const ClickShape& s) {
  Model model = recommender({26, s.batch / 4, 128, 1, s.width});
  model.layers.pop_back();
  model.layers.front().name = "sparse_arch";
  Layer first{"over_arch.0", {linear_op(s.batch, s.width, s.pairs, s.first)}, {}, s.width * s.pairs};
  first.backward = linear_backward_ops(s.batch, s.width, s.pairs, s.first);
  model.layers.push_back(std::move(first));
  Model rest = mlp({s.layers, s.batch, s.width});
  for (std::size_t i = 0; i < rest.layers.size(); ++i) {
    rest.layers[i].name = "over_arch." + std::to_string(2 * i + 2);
    model.layers.push_back(std::move(rest.layers[i]));
  }
  return model;
}

Model patch_transformer(const PatchShape& s) {
  Model model = transformer({s.layers, s.images, s.patches, s.width, s.width / 64, s.classes});
  model.batch_bytes = static_cast<std::uint64_t>(s.images * 3 * 256 * 256);
  return model;
}

void rename_layers(Model& model, const std::string& first, const std::string& middle, const std::string& last) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) model.layers[i].name = middle + std::to_string(i);
  model.layers.front().name = first;
  model.layers.back().name = last;
}

void launch_in_layers(Model& model, std::size_t period, const std::string& op, const Kernel& kernel) {
  for (std::size_t i = 0; i < model.layers.size(); i += period)
    model.layers[i].forward.push_back({op, "", shapes_of({{65536, 32}}), types_of("float", 1), {kernel}});
}

LoopNames short_names() {
  LoopNames names;
  names.step = "train_step";
  names.data = "get_batch";
  names.forward = "fwd";
  names.backward = "bwd";
  names.optimizer = "opt";
  return names;
}

void without_module_ranges(Model& model) {
  for (Layer& layer : model.layers) layer.name.clear();
}

}  // namespace rangefinder::testing::corpus
