// SPDX-License-Identifier: MIT
#include "advice/corpus/held_out_models.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

/// So many blocks of 256 threads with few registers fit on the device; waves of them are full.
Kernel whole_waves(Kernel kernel) {
  constexpr std::uint32_t kWave = 8 * kMultiprocessors;
  kernel.grid = std::max(1u, (kernel.grid + kWave / 2) / kWave) * kWave;
  return kernel;
}

Op streamed(const std::string& op, const Shape& shape, const std::string& kernel, double bytes) {
  return simple_op(op, shape, whole_waves(streaming_kernel(kernel, bytes)));
}

/// The layer's operators, forward; and backward before those that are there.
void put_in_layer(Layer& layer, std::vector<Op> forward, std::vector<Op> backward) {
  append(layer.forward, std::move(forward));
  append(backward, std::move(layer.backward));
  layer.backward = std::move(backward);
}

// ---- convolutions --------------------------------------------------------------------------------------------------

struct ConvolutionSizes {
  Shape input, weight;
  double flops = 0;
  double output_bytes = 0;
  std::string op = "aten::conv2d";
};

/// A convolution, and a norm with what follows it, which the compiler made one kernel.
void add_convolution_and_norm(Layer& layer, const ConvolutionSizes& c, Math math, const std::string& norm) {
  const std::string shapes = shapes_of({c.input, c.weight});
  const std::string types = types_of(type_name(math), 2);
  put_in_layer(layer,
               {{c.op, "aten::cudnn_convolution", shapes, types, {convolution_kernel(c.flops, "fprop", math)}},
                streamed("CompiledFunction", c.input, "triton_red_fused_" + norm + "_0", 2.4 * c.output_bytes)},
               {streamed(autograd_node("CompiledFunctionBackward"), c.input, "triton_red_fused_" + norm + "_backward_1",
                         4 * c.output_bytes),
                {autograd_node("ConvolutionBackward0"),
                 "aten::convolution_backward",
                 shapes_of({c.input, c.input, c.weight}),
                 types_of(type_name(math), 3),
                 {convolution_kernel(c.flops, "dgrad", math), convolution_kernel(c.flops, "wgrad", math)}}});
}

double product_of(const Shape& shape) {
  double product = 1;
  for (const std::int64_t size : shape) product *= static_cast<double>(size);
  return product;
}

Layer bottleneck(const BottleneckShape& s, std::int64_t stage, std::int64_t index) {
  const std::int64_t width = std::int64_t{64} << stage, size = s.size >> stage;
  Layer layer{"layer" + std::to_string(stage + 1) + "." + std::to_string(index), {}, {}, 17 * width * width};
  const struct {
    std::int64_t from, to, window;
  } convolutions[] = {{4 * width, width, 1}, {width, width, 3}, {width, 4 * width, 1}};
  for (const auto& [from, to, window] : convolutions) {
    const Shape input{s.images, from, size, size}, output{s.images, to, size, size}, weight{to, from, window, window};
    const double flops = 2 * product_of(weight) * product_of({s.images, size, size});
    add_convolution_and_norm(
        layer, {input, weight, flops, bytes_of(s.images * to * size * size, s.math)}, s.math,
        to == width ? "_native_batch_norm_legit_functional_relu" : "_native_batch_norm_legit_functional_add_relu");
  }
  return layer;
}

Layer volume_stage(const VolumeShape& s, std::int64_t stage, const std::string& name) {
  const std::int64_t width = s.channels << stage, size = s.size >> stage;
  const Shape image{s.batch, width, size, size, size}, weight{width, width, 3, 3, 3};
  const double flops = 2 * product_of(weight) * product_of({s.batch, size, size, size});
  Layer layer{name, {}, {}, 54 * width * width};
  for (int convolution = 0; convolution < 2; ++convolution)
    add_convolution_and_norm(
        layer, {image, weight, flops, bytes_of(s.batch * width * size * size * size, s.math), "aten::conv3d"}, s.math,
        "instance_norm_leaky_relu");
  return layer;
}

// ---- T5 ------------------------------------------------------------------------------------------------------------

void add_attention_part(Layer& layer, const EncoderDecoderShape& s, bool looks_at_encoder) {
  const std::int64_t rows = s.rows, d = s.width, products = looks_at_encoder ? 1 : 3;
  const Math m = Math::kBf16;
  std::vector<Op> forward{layer_norm_op(rows, d, m), linear_op(rows, products * d, d, m)};
  if (looks_at_encoder) forward.push_back(linear_op(rows, 2 * d, d, m));
  append(forward, {attention_op(rows / s.sequence, d / 64, s.sequence, d, false), linear_op(rows, d, d, m),
                   elementwise_op("aten::add", "CUDAFunctor_add<c10::BFloat16>", {rows, d}, m, 2)});
  std::vector<Op> backward = linear_backward_ops(rows, d, d, m);
  backward.push_back(attention_op(rows / s.sequence, d / 64, s.sequence, d, true));
  if (looks_at_encoder) append(backward, linear_backward_ops(rows, 2 * d, d, m));
  append(backward, linear_backward_ops(rows, products * d, d, m));
  backward.push_back(layer_norm_backward_op(rows, d, m));
  put_in_layer(layer, std::move(forward), std::move(backward));
}

/// gelu(x wi_0) * (x wi_1), compiled, and wo.
void add_gated_part(Layer& layer, const EncoderDecoderShape& s, Math m) {
  const std::int64_t rows = s.rows, d = s.width, h = s.hidden;
  const double bytes = bytes_of(rows * h, m);
  std::vector<Op> backward = linear_backward_ops(rows, d, h, m);
  backward.push_back(streamed(autograd_node("CompiledFunctionBackward"), {rows, h},
                              "triton_poi_fused_gelu_gelu_backward_mul_1", 5 * bytes));
  for (int product = 0; product < 2; ++product) append(backward, linear_backward_ops(rows, h, d, m));
  backward.push_back(layer_norm_backward_op(rows, d, Math::kBf16));
  put_in_layer(
      layer,
      {layer_norm_op(rows, d, Math::kBf16), linear_op(rows, h, d, m), linear_op(rows, h, d, m),
       streamed("CompiledFunction", {rows, h}, "triton_poi_fused_gelu_mul_0", 3 * bytes), linear_op(rows, d, h, m)},
      std::move(backward));
}

Layer block_of_t5(const EncoderDecoderShape& s, bool decodes, std::int64_t index) {
  const std::string stack = decodes ? "decoder.block." : "encoder.block.";
  Layer layer{stack + std::to_string(index), {}, {}, (decodes ? 8 : 4) * s.width * s.width + 3 * s.width * s.hidden};
  add_attention_part(layer, s, false);
  if (decodes) add_attention_part(layer, s, true);
  add_gated_part(layer, s, decodes ? s.decoder_math : s.hidden_math);
  return layer;
}

// ---- atoms ---------------------------------------------------------------------------------------------------------

/// Edges' harmonics, radial products, messages, their sum, and the product of features with themselves.
Layer interaction(const AtomsShape& s, std::int64_t index) {
  const std::int64_t edges = 20 * s.atoms, c = s.width;
  Layer layer{"interactions." + std::to_string(index), {}, {}, 40 * c * c};
  const auto small = [&](const std::string& op, const std::string& kernel, std::int64_t rows) {
    return streamed(op, {rows, c}, kernel, 2 * bytes_of(rows * c / 8));
  };
  for (int part = 0; part < 4; ++part)
    put_in_layer(
        layer,
        {small("e3nn::SphericalHarmonics", "void spherical_harmonics_fwd<float, 3>(float const*)", edges),
         linear_op(s.atoms, c, c, Math::kBf16),
         small("cuequivariance::tensor_product", "void segmented_polynomial_fwd_kernel<float>(Poly)", edges),
         small("aten::scatter_add_", "void at::native::_scatter_gather_elementwise_kernel<128, 8>", edges),
         linear_op(s.atoms, c, c, Math::kBf16)},
        {small(autograd_node("ScatterAddBackward0"), "void at::native::vectorized_gather_kernel<16, long>", edges),
         small(autograd_node("TensorProductBackward"), "void segmented_polynomial_bwd_kernel<float>(Poly)", edges),
         small(autograd_node("SphericalHarmonicsBackward"), "void spherical_harmonics_bwd<float, 3>(float const*)",
               edges)});
  return layer;
}

}  // namespace

Model bottleneck_net(const BottleneckShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.images * 3 * 16 * s.size * s.size);
  for (std::size_t stage = 0; stage < s.blocks.size(); ++stage)
    for (std::int64_t i = 0; i < s.blocks[stage]; ++i)
      model.layers.push_back(bottleneck(s, static_cast<std::int64_t>(stage), i));
  return model;
}

std::vector<Op> focal_loss_ops(std::int64_t anchors, bool fused) {
  const Shape shape{anchors, 80};
  const Math m = Math::kFp32;
  if (fused)
    return {{"CompiledFunction",
             "",
             shapes_of({shape, shape}),
             types_of("float", 2),
             {fused_kernel("binary_cross_entropy_with_logits_mul_pow_rsub_sigmoid", 3 * bytes_of(anchors * 80, m))}}};
  const auto times = [&](int inputs) {
    return elementwise_op("aten::mul", "BinaryFunctor<float, float, float, MulFunctor<float> >", shape, m, inputs);
  };
  const auto from_one = elementwise_op("aten::rsub", "CUDAFunctorOnOther_add<float>", shape, m);
  return {elementwise_op("aten::sigmoid", "sigmoid_kernel_cuda", shape, m),
          elementwise_op("aten::binary_cross_entropy_with_logits", "log_sigmoid_forward_kernel", shape, m, 2),
          times(2),
          from_one,
          from_one,
          times(2),
          elementwise_op("aten::add", "CUDAFunctor_add<float>", shape, m, 2),
          from_one,
          elementwise_op("aten::pow", "pow_tensor_scalar_kernel_impl<float, float>", shape, m),
          times(2),
          times(2)};
}

Model encoder_decoder(const EncoderDecoderShape& s) {
  Model model = transformer({1, s.rows / s.sequence, s.sequence, s.width, s.width / 64, s.vocabulary});
  model.layers.erase(model.layers.begin() + 1);
  for (const bool decodes : {false, true})
    for (std::int64_t i = 0; i < s.layers; ++i) model.layers.insert(model.layers.end() - 1, block_of_t5(s, decodes, i));
  model.layers.front().name = "shared";
  model.layers.back().name = "lm_head";
  return model;
}

Model gaussian_splats(const SplatShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.pixels * 3);
  const auto n = static_cast<std::int64_t>(s.gaussians), all = static_cast<std::int64_t>(s.gaussians * s.instances);
  const std::string raster = "diff_gaussian_rasterization::";
  Layer activations{"get_scaling_rotation_opacity", {}, {}, n * 59};
  activations.forward = {
      streamed("CompiledFunction", {n, 8}, "triton_poi_fused_exp_normalize_sigmoid_0", 64 * s.gaussians)};
  activations.backward = {streamed(autograd_node("CompiledFunctionBackward"), {n, 8},
                                   "triton_poi_fused_exp_normalize_sigmoid_backward_1", 96 * s.gaussians)};
  Layer preprocess{"preprocess", {}, {}, 0};
  preprocess.forward = {streamed(raster + "preprocess", {n, 16, 3},
                                 "void FORWARD::preprocessCUDA<3>(int, int, int, float const*)", 330 * s.gaussians),
                        streamed(raster + "scan", {n},
                                 "void cub::DeviceScanKernel<cub::DeviceScanPolicy<unsigned int> >", 12 * s.gaussians)};
  preprocess.backward = {streamed(autograd_node("_RasterizeGaussiansBackward"), {n, 16, 3},
                                  "void BACKWARD::preprocessCUDA<3>(int, int, int, float3 const*)", 620 * s.gaussians)};
  Layer binning{"binning", {}, {}, 0};
  binning.forward = {streamed(raster + "duplicate", {all}, "duplicateWithKeys(int, float2 const*, float const*)",
                              16 * s.gaussians * s.instances)};
  for (int digit = 0; digit < 6; ++digit)
    binning.forward.push_back(
        streamed(raster + "sort", {all},
                 "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<unsigned long, unsigned int> >",
                 24 * s.gaussians * s.instances));
  binning.forward.push_back(streamed(raster + "ranges", {all}, "identifyTileRanges(int, unsigned long*, uint2*)",
                                     9 * s.gaussians * s.instances));
  Layer render{"render", {}, {}, 0};
  render.forward = {streamed(raster + "render", {n}, "void FORWARD::renderCUDA<3u>(uint2 const*)", 5'200 * s.pixels)};
  render.backward = {streamed(autograd_node("_RasterizeGaussiansBackward"), {n},
                              "void BACKWARD::renderCUDA<3u>(uint2 const*)", 11'000 * s.pixels)};
  Layer loss{"fused_ssim", {}, {}, 0};
  loss.forward = {
      streamed("fused_ssim::forward", {3, 1080, 1920}, "void fusedssimCUDA(int, int, int, float)", 90 * s.pixels)};
  loss.backward = {streamed(autograd_node("FusedSSIMMapBackward"), {3, 1080, 1920},
                            "void fusedssim_backwardCUDA(int, int, int, float)", 110 * s.pixels)};
  for (Layer* layer : {&activations, &preprocess, &binning, &render, &loss}) model.layers.push_back(std::move(*layer));
  return model;
}

Model radiance_field(const FieldShape& s) {
  Model model;
  model.batch_bytes = std::uint64_t{8'192} * 40;
  const auto rows = static_cast<std::int64_t>(s.samples);
  for (std::int64_t i = 0; i < s.levels; ++i) {
    const std::string prefix = i + 1 < s.levels ? "proposal_networks." + std::to_string(i) : "field";
    Layer grid{prefix + ".encoding", {}, {}, 12'000'000};
    grid.forward = {streamed("_module_function::HashGrid", {rows, 3},
                             "void tcnn::kernel_grid<__half, 3u, 2u, (tcnn::HashType)1>(unsigned int)",
                             520 * s.samples)};
    grid.backward = {streamed(autograd_node("_module_functionBackward"), {rows, 32},
                              "void tcnn::kernel_grid_backward<__half, __half, 3u, 2u, 2u>(unsigned int)",
                              880 * s.samples)};
    Layer network{prefix + ".mlp", {}, {}, 12'288};
    network.forward = {streamed("_module_function::FullyFusedMLP", {rows, 32},
                                "void tcnn::kernel_mlp_fused<64, 8, __half, (tcnn::Activation)0>(__half const*)",
                                190 * s.samples)};
    network.backward = {streamed(autograd_node("_module_functionBackward"), {rows, 16},
                                 "void tcnn::kernel_mlp_fused_backward<64, 8, __half>(__half const*)",
                                 330 * s.samples)};
    model.layers.push_back(std::move(grid));
    model.layers.push_back(std::move(network));
  }
  Layer renderer{"renderer_rgb", {}, {}, 0};
  renderer.forward = {streamed("nerfacc::accumulate_along_rays", {rows, 4},
                               "void nerfacc::cuda::rendering_forward_kernel<float>(int)", 44 * s.samples)};
  renderer.backward = {streamed(autograd_node("AccumulateAlongRaysBackward"), {rows, 4},
                                "void nerfacc::cuda::rendering_backward_kernel<float>(int)", 60 * s.samples)};
  model.layers.push_back(std::move(renderer));
  return model;
}

Model volume_net(const VolumeShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.batch * 4 * s.size * s.size * s.size * 4);
  for (std::int64_t stage = 0; stage < s.stages; ++stage)
    model.layers.push_back(volume_stage(s, stage, "encoder.stages." + std::to_string(stage)));
  for (std::int64_t stage = s.stages - 1; stage-- > 0;)
    model.layers.push_back(volume_stage(s, stage, "decoder.stages." + std::to_string(s.stages - 2 - stage)));
  return model;
}

Model interatomic_potential(const AtomsShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.atoms * 20 * 28);
  for (std::int64_t i = 0; i < s.interactions; ++i) model.layers.push_back(interaction(s, i));
  return model;
}

}  // namespace rangefinder::testing::corpus
