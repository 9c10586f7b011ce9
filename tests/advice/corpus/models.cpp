// SPDX-License-Identifier: MIT
#include "advice/corpus/training_loop.hpp"

#include <utility>

namespace rangefinder::testing::corpus {
namespace {

Layer transformer_layer(const TransformerShape& s, std::int64_t index) {
  const std::int64_t rows = s.batch * s.sequence, d = s.width;
  Layer layer;
  layer.name = "layer_" + std::to_string(index);
  layer.parameters = 12 * d * d;
  const Math m = s.math;
  layer.forward = {layer_norm_op(rows, d, m),
                   linear_op(rows, 3 * d, d, m),
                   attention_op(s.batch, s.heads, s.sequence, d, false),
                   linear_op(rows, d, d, m),
                   elementwise_op("aten::add", "CUDAFunctor_add<c10::BFloat16>", {rows, d}, m, 2),
                   layer_norm_op(rows, d, m),
                   linear_op(rows, 4 * d, d, m),
                   elementwise_op("aten::gelu", "GeluCUDAKernelImpl", {rows, 4 * d}, m),
                   linear_op(rows, d, 4 * d, m),
                   elementwise_op("aten::add", "CUDAFunctor_add<c10::BFloat16>", {rows, d}, m, 2)};
  const auto add_gradients = [&] {
    layer.backward.push_back(elementwise_op("aten::add_", "CUDAFunctor_add<c10::BFloat16>", {rows, d}, m, 2));
  };
  append(layer.backward, linear_backward_ops(rows, d, 4 * d, m));
  layer.backward.push_back({autograd_node("GeluBackward0"),
                            "aten::gelu_backward",
                            shapes_of({{rows, 4 * d}, {rows, 4 * d}}),
                            types_of(type_name(m), 2),
                            {elementwise_kernel("GeluBackwardCUDAKernelImpl", 3 * bytes_of(rows * 4 * d, m))}});
  append(layer.backward, linear_backward_ops(rows, 4 * d, d, m));
  layer.backward.push_back(layer_norm_backward_op(rows, d, m));
  add_gradients();
  append(layer.backward, linear_backward_ops(rows, d, d, m));
  layer.backward.push_back(attention_op(s.batch, s.heads, s.sequence, d, true));
  append(layer.backward, linear_backward_ops(rows, 3 * d, d, m));
  layer.backward.push_back(layer_norm_backward_op(rows, d, m));
  add_gradients();
  return layer;
}

Layer embedding_layer(const TransformerShape& s) {
  const std::int64_t rows = s.batch * s.sequence;
  const double bytes = 2 * bytes_of(rows * s.width, s.math);
  Layer layer{"embedding", {}, {}, s.vocabulary * s.width};
  layer.forward = {{"aten::embedding",
                    "aten::index_select",
                    shapes_of({{s.vocabulary, s.width}, {}, {rows}}),
                    "[\"c10::BFloat16\",\"Scalar\",\"long int\"]",
                    {streaming_kernel("void at::native::vectorized_gather_kernel<16, long>", bytes)}}};
  layer.backward = {{autograd_node("EmbeddingBackward0"),
                     "aten::embedding_dense_backward",
                     shapes_of({{rows, s.width}, {rows}}),
                     "[\"c10::BFloat16\",\"long int\"]",
                     {streaming_kernel("void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, "
                                       "long>",
                                       2 * bytes)}}};
  return layer;
}

/// The product with the vocabulary, and the loss.
Layer head_layer(const TransformerShape& s) {
  const std::int64_t rows = s.batch * s.sequence;
  const double logits = bytes_of(rows * s.vocabulary, s.math);
  Layer layer{"head", {}, {}, 0};  // tied to the embedding
  layer.forward = {linear_op(rows, s.vocabulary, s.width, s.head_math),
                   {"aten::cross_entropy_loss",
                    "aten::_log_softmax",
                    shapes_of({{rows, s.vocabulary}, {}, {}}),
                    types_of(type_name(s.math), 1, 2),
                    {streaming_kernel("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, "
                                      "float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>",
                                      2 * logits, 1024)}}};
  layer.backward = {{autograd_node("LogSoftmaxBackward0"),
                     "aten::_log_softmax_backward_data",
                     shapes_of({{rows, s.vocabulary}, {rows, s.vocabulary}}),
                     types_of(type_name(s.math), 2),
                     {streaming_kernel("void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16, "
                                       "float, c10::BFloat16, at::native::(anonymous namespace)::"
                                       "LogSoftMaxBackwardEpilogue>",
                                       3 * logits, 1024)}}};
  append(layer.backward, linear_backward_ops(rows, s.vocabulary, s.width, s.head_math));
  return layer;
}

Op convolution(std::int64_t batch, double flops, const char* pass, Math math) {
  const Shape input{batch, 256, 28, 28}, weight{256, 256, 3, 3};
  const bool forward = std::string(pass) == "fprop";
  return {forward ? "aten::conv2d" : autograd_node("ConvolutionBackward0"),
          forward ? "aten::cudnn_convolution" : "aten::convolution_backward",
          shapes_of({input, weight}),
          types_of(type_name(math), 2),
          {convolution_kernel(flops, pass, math)}};
}

}  // namespace

Model transformer(const TransformerShape& shape) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(shape.batch * shape.sequence * 16);
  model.layers.push_back(embedding_layer(shape));
  for (std::int64_t i = 0; i < shape.layers; ++i) model.layers.push_back(transformer_layer(shape, i));
  model.layers.push_back(head_layer(shape));
  return model;
}

Model cnn(const CnnShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.batch * 3 * 224 * 224);
  const double flops = s.block_gflops * 1e9;
  const double bytes = bytes_of(s.batch * 256 * 28 * 28, s.math);
  for (std::int64_t i = 0; i < s.blocks; ++i) {
    Layer layer{"block_" + std::to_string(i), {}, {}, 1'200'000};
    layer.forward = {
        convolution(s.batch, flops, "fprop", s.math),
        {"aten::batch_norm",
         "aten::cudnn_batch_norm",
         shapes_of({{s.batch, 256, 28, 28}, {256}, {256}}),
         types_of(type_name(s.math), 3),
         {streaming_kernel("void cudnn::bn_fw_tr_1C11_kernel_NHWC<__nv_bfloat16, float, 512, true, 1, true>", 2 * bytes,
                           512)}}};
    layer.backward = {
        {autograd_node("CudnnBatchNormBackward0"),
         "aten::cudnn_batch_norm_backward",
         shapes_of({{s.batch, 256, 28, 28}, {s.batch, 256, 28, 28}}),
         types_of(type_name(s.math), 2),
         {streaming_kernel("void cudnn::bn_bw_1C11_kernel_new<__nv_bfloat16, float, float2, 512, true, 1>", 3 * bytes,
                           512)}},
        convolution(s.batch, flops, "dgrad", s.math),
        convolution(s.batch, flops, "wgrad", s.math)};
    model.layers.push_back(std::move(layer));
  }
  return model;
}

Model mlp(const MlpShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.batch * 1024);
  for (std::int64_t i = 0; i < s.layers; ++i) {
    Layer layer{"dense_" + std::to_string(i), {}, {}, s.width * s.width};
    layer.forward = {linear_op(s.batch, s.width, s.width, s.math),
                     elementwise_op("aten::relu", "launch_clamp_scalar", {s.batch, s.width}, s.math)};
    layer.backward = {{autograd_node("ReluBackward0"),
                       "aten::threshold_backward",
                       shapes_of({{s.batch, s.width}, {s.batch, s.width}}),
                       types_of(type_name(s.math), 2),
                       {elementwise_kernel("threshold_kernel_impl", 3 * bytes_of(s.batch * s.width, s.math))}}};
    append(layer.backward, linear_backward_ops(s.batch, s.width, s.width, s.math));
    model.layers.push_back(std::move(layer));
  }
  return model;
}

Model lstm(const LstmShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.batch * s.time_steps * s.width * 2);
  const auto cell = [&](const char* direction) {
    const double bytes = bytes_of(s.batch * s.width * 6, Math::kBf16);
    Kernel kernel = streaming_kernel(std::string("void at::native::(anonymous namespace)::kernel::lstm_cell_") +
                                         direction + "<c10::BFloat16, float, int, 1>",
                                     bytes, 512);
    kernel.grid = 4 * kMultiprocessors;
    return kernel;
  };
  for (std::int64_t i = 0; i < s.layers; ++i) {
    Layer layer{"lstm_" + std::to_string(i), {}, {}, 8 * s.width * s.width};
    for (std::int64_t t = 0; t < s.time_steps; ++t) {
      layer.forward.push_back(linear_op(s.batch, 4 * s.width, s.width, Math::kBf16));
      layer.forward.push_back({"aten::lstm_cell",
                               "aten::_thnn_fused_lstm_cell",
                               shapes_of({{s.batch, 4 * s.width}, {s.batch, 4 * s.width}}),
                               types_of("c10::BFloat16", 2),
                               {cell("forward")}});
      layer.backward.push_back({autograd_node("ThnnFusedLstmCellBackward0"),
                                "aten::_thnn_fused_lstm_cell_backward_impl",
                                shapes_of({{s.batch, s.width}, {s.batch, s.width}}),
                                types_of("c10::BFloat16", 2),
                                {cell("backward")}});
      append(layer.backward, linear_backward_ops(s.batch, 4 * s.width, s.width, Math::kBf16));
    }
    model.layers.push_back(std::move(layer));
  }
  return model;
}

Model recommender(const RecommenderShape& s) {
  Model model = mlp({s.dense_layers, s.batch, s.dense_width, Math::kBf16});
  model.batch_bytes = static_cast<std::uint64_t>(s.batch * (s.tables * 20 * 8 + 13 * 4));
  const double bytes = bytes_of(s.tables * s.batch * s.width * 21, Math::kBf16);
  Layer sparse{"embedding_bags", {}, {}, 0};  // its optimizer is fused into its backward pass
  sparse.forward = {{"fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function",
                     "",
                     shapes_of({{s.tables * 1'000'000, s.width}, {s.batch * s.tables * 20}}),
                     "[\"c10::BFloat16\",\"long int\"]",
                     {streaming_kernel("void split_embedding_codegen_forward_unweighted_kernel<c10::BFloat16, float, "
                                       "c10::BFloat16, long, true>",
                                       bytes)}}};
  sparse.backward = {{autograd_node("SplitLookupFunction_rowwise_adagrad_Op"),
                      "",
                      shapes_of({{s.batch, s.tables * s.width}}),
                      "[\"c10::BFloat16\"]",
                      {streaming_kernel("void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_"
                                        "per_row_1<c10::BFloat16, float, float, 4, 32>",
                                        1.6 * bytes)}}};
  model.layers.insert(model.layers.begin(), std::move(sparse));
  return model;
}

Model decoder(const DecoderShape& s) {
  Model model;
  model.batch_bytes = static_cast<std::uint64_t>(s.batch * 8);
  const std::int64_t d = s.width;
  for (std::int64_t i = 0; i < s.layers; ++i) {
    Layer layer{"layer_" + std::to_string(i), {}, {}, 12 * d * d};
    layer.forward = {layer_norm_op(s.batch, d, Math::kBf16),
                     linear_op(s.batch, 3 * d, d, Math::kBf16),
                     {"flash_attn::paged_attention",
                      "",
                      shapes_of({{s.batch, d}, {s.batch, 4096, d / 8}}),
                      types_of("c10::BFloat16", 2),
                      {{"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>",
                        1.6 + static_cast<double>(s.batch * 4096) * static_cast<double>(d / 2) / kMemoryBytes / 1000,
                        8 * kMultiprocessors, 128, 168, 65'536}}},
                     linear_op(s.batch, d, d, Math::kBf16),
                     layer_norm_op(s.batch, d, Math::kBf16),
                     linear_op(s.batch, 4 * d, d, Math::kBf16),
                     elementwise_op("aten::gelu", "GeluCUDAKernelImpl", {s.batch, 4 * d}, Math::kBf16),
                     linear_op(s.batch, d, 4 * d, Math::kBf16)};
    model.layers.push_back(std::move(layer));
  }
  return model;
}

}  // namespace rangefinder::testing::corpus
