// SPDX-License-Identifier: MIT
//
// Causes on the device's side, of the second part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/training_loop.hpp"

#include <string>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

/// Gate, dropout and residual of each layer.
void gate_layers(Model& model, std::int64_t rows, std::int64_t width, bool eager) {
  const double bytes = 2.0 * static_cast<double>(rows * width);
  const std::string shapes = shapes_of({{rows, width}, {rows, width}}), types = types_of("c10::BFloat16", 2);
  for (Layer& layer : model.layers) {
    if (layer.forward.empty() || layer.name.rfind("dense_", 0) != 0) continue;
    std::vector<Op>& ops = layer.forward;
    if (!eager) {
      ops.back() = {"CompiledFunction", "", shapes, types, {fused_kernel("add_mul_native_dropout_silu", 4 * bytes)}};
      continue;
    }
    ops.back() = {"aten::silu",
                  "",
                  shapes_of({{rows, width}}),
                  types_of("c10::BFloat16", 1),
                  {elementwise_kernel("silu_kernel", 2 * bytes)}};
    ops.push_back({"aten::mul",
                   "",
                   shapes,
                   types,
                   {elementwise_kernel("BinaryFunctor<c10::BFloat16, MulFunctor<float> >", 3 * bytes)}});
    ops.push_back({"aten::native_dropout",
                   "",
                   shapes_of({{rows, width}}),
                   types_of("c10::BFloat16", 1),
                   {streaming_kernel("void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, "
                                     "float, unsigned int, 1, 4, bool>",
                                     2.5 * bytes)}});
    ops.push_back({"aten::div",
                   "",
                   shapes_of({{rows, width}}),
                   types_of("c10::BFloat16", 1),
                   {elementwise_kernel("AUnaryFunctor<c10::BFloat16, DivFunctor<float> >", 2 * bytes)}});
    ops.push_back({"aten::add", "", shapes, types, {elementwise_kernel("CUDAFunctor_add<c10::BFloat16>", 3 * bytes)}});
  }
}

Program gated_layers(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({12, 16384, 2048})};
  gate_layers(loop.model, 16384, 2048, planted(0));
  return run_loop(seed, loop);
}

void add_to_layers(Model& model, const std::string& op, const Kernel& kernel) {
  for (Layer& layer : model.layers)
    layer.forward.push_back({op, "", shapes_of({{8192, 1024}}), types_of("float", 1), {kernel}});
}

/// A warp a block, with all registers that a thread can have: eight of 64 warps.
Kernel search_kernel(bool one_warp) {
  const std::string name = "void beam_search_step_kernel<float, 8>(float const*, int*, float*, int)";
  return one_warp ? Kernel{name, 760, 512 * kMultiprocessors, 32, 255, 26'000}
                  : Kernel{name, 250, 96 * kMultiprocessors, 256, 48, 0};
}

Program one_warp_a_block(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({6, 2, 2048, 2048, 16, 50304})};
  add_to_layers(loop.model, "my_ops::beam_search", search_kernel(planted(0)));
  return run_loop(seed, loop);
}

/// 150 KB a block: one fits, 132 at a time, and there are 133.
Kernel scatter_kernel(bool one_too_many) {
  const std::string name = "void expert_scatter_kernel<__nv_bfloat16, 128>(__nv_bfloat16 const*, int const*, float*)";
  return one_too_many ? Kernel{name, 1'180, kMultiprocessors + 1, 512, 64, 150'000}
                      : Kernel{name, 600, kMultiprocessors, 512, 64, 150'000};
}

Program one_block_more(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({6, 2, 2048, 2048, 16, 50304})};
  add_to_layers(loop.model, "my_ops::expert_scatter", scatter_kernel(planted(0)));
  return run_loop(seed, loop);
}

/// One layer of a model in half precision runs on the kernel for few columns, which has no tensor cores.
Program half_without_cores(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({14, 4096, 2048})};
  if (planted(0)) {
    const Model slow = mlp({1, 4096, 2048, Math::kHalfWithoutCores});
    loop.model.layers[7].forward = slow.layers[0].forward;
    loop.model.layers[7].backward = slow.layers[0].backward;
  }
  return run_loop(seed, loop);
}

/// Two thirds of four times the width: 5461.
Model gated_mlp(std::int64_t hidden, Math math) {
  Model model = mlp({1, 8192, 2048});
  for (int i = 0; i < 10; ++i) {
    Layer layer{"block_" + std::to_string(i), {}, {}, 2 * 2048 * hidden};
    layer.forward = {linear_op(8192, hidden, 2048, math),
                     elementwise_op("aten::silu", "silu_kernel", {8192, hidden}, math),
                     linear_op(8192, 2048, hidden, math)};
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{2048, hidden}, {hidden, 2048}}) {
      const std::vector<Op> ops = linear_backward_ops(8192, n, k, math);
      layer.backward.insert(layer.backward.end(), ops.begin(), ops.end());
    }
    model.layers.push_back(std::move(layer));
  }
  return model;
}

Program odd_width(std::uint64_t seed, Planted planted) {
  return run_loop(seed, Loop{planted(0) ? gated_mlp(5461, Math::kMisaligned) : gated_mlp(5464, Math::kBf16)});
}

Program mlp_in_tensor_float(std::uint64_t seed, Planted planted) {
  return run_loop(seed, Loop{mlp({12, 8192, 2048, planted(0) ? Math::kTf32 : Math::kBf16})});
}

/// NVML's bit 4: the power limit.
Program capped_power(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({})};
  loop.steps = 36;
  loop.before_step = [planted](Simulation& run, int step) {
    if (planted(0) && step >= 8) run.set_clock(1380, 0x4, 71);
  };
  return run_loop(seed, loop);
}

Program gated_and_one_warp(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({10, 16384, 2048})};
  gate_layers(loop.model, 16384, 2048, planted(1));
  add_to_layers(loop.model, "my_ops::beam_search", search_kernel(planted(0)));
  return run_loop(seed, loop);
}

Program odd_width_and_one_block(std::uint64_t seed, Planted planted) {
  Loop loop{planted(0) ? gated_mlp(5461, Math::kMisaligned) : gated_mlp(5464, Math::kBf16)};
  add_to_layers(loop.model, "my_ops::expert_scatter", scatter_kernel(planted(1)));
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> second_device_cases() {
  using R = AdviceRule;
  return {
      {"gate, dropout and residual are kernels of their own", {{R::kElementwiseChain}}, alone(gated_layers), {}, true},
      {"a kernel of one warp a block", {{R::kLowOccupancy}}, alone(one_warp_a_block), {}},
      {"a kernel of 133 blocks", {{R::kTailWave}}, alone(one_block_more), {}},
      {"a layer in half precision without tensor cores", {{R::kNoTensorCores}}, alone(half_without_cores), {}},
      {"hidden layers of 5461", {{R::kGemmAlignment}}, alone(odd_width), {}},
      {"products in TF32", {{R::kFp32Math}}, alone(mlp_in_tensor_float), {}},
      {"the power limit slows the device", {{R::kClocks}}, alone(capped_power), {}},
      {"gates in pieces, and a kernel of one warp a block",
       {{R::kLowOccupancy}, {R::kElementwiseChain}},
       alone(gated_and_one_warp),
       {}},
      {"hidden layers of 5461, and a kernel of 133 blocks",
       {{R::kGemmAlignment}, {R::kTailWave}},
       alone(odd_width_and_one_block),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
