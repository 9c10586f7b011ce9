// SPDX-License-Identifier: MIT
//
// Causes on the device's side: kernels that are more, or slower, than they had to be.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/training_loop.hpp"

#include <string>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

constexpr std::int64_t kRows = 4096, kWidth = 8192;
constexpr double kActivationBytes = 2.0 * kRows * kWidth;

struct Functor {
  const char* op;
  const char* functor;
  int tensors;  ///< that it reads and writes
};
/// x * 0.5 * (1 + tanh(c * (x + 0.044715 * x^3))), and its derivative as autograd finds it.
constexpr Functor kGelu[] = {{"aten::pow", "pow_tensor_scalar_kernel_impl<c10::BFloat16, c10::BFloat16>", 2},
                             {"aten::mul", "AUnaryFunctor<c10::BFloat16, MulFunctor<float> >", 2},
                             {"aten::add", "CUDAFunctor_add<c10::BFloat16>", 3},
                             {"aten::tanh", "tanh_kernel_cuda", 2},
                             {"aten::add", "CUDAFunctorOnSelf_add<c10::BFloat16>", 2},
                             {"aten::mul", "BinaryFunctor<c10::BFloat16, MulFunctor<float> >", 3}};
constexpr Functor kGeluBackward[] = {{"MulBackward0", "BinaryFunctor<c10::BFloat16, MulFunctor<float> >", 3},
                                     {"MulBackward0", "AUnaryFunctor<c10::BFloat16, MulFunctor<float> >", 2},
                                     {"TanhBackward0", "tanh_backward_kernel_cuda", 3},
                                     {"PowBackward0", "pow_tensor_scalar_kernel_impl<c10::BFloat16>", 2},
                                     {"PowBackward0", "BinaryFunctor<c10::BFloat16, MulFunctor<float> >", 3},
                                     {"AddBackward0", "CUDAFunctor_add<c10::BFloat16>", 3}};

/// Elementwise operators one after the other; or one kernel for all of them, as torch.compile makes it.
template <std::size_t kCount>
std::vector<Op> written_out(const Functor (&functors)[kCount], const std::string& prefix, bool compiled) {
  const std::string shapes = shapes_of({{kRows, kWidth}}), types = types_of("c10::BFloat16", 1);
  if (compiled)
    return {{prefix + "CompiledFunction", "", shapes, types, {fused_kernel("add_mul_pow_tanh", 3 * kActivationBytes)}}};
  std::vector<Op> chain;
  for (const Functor& one : functors)
    chain.push_back(
        {prefix + one.op, "", shapes, types, {elementwise_kernel(one.functor, one.tensors * kActivationBytes)}});
  return chain;
}

void replace(std::vector<Op>& ops, const std::string& name, const std::vector<Op>& by) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].name != name) continue;
    const auto at = ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
    ops.insert(at, by.begin(), by.end());
    i += by.size() - 1;
  }
}

void write_gelu_out(Model& model, bool eager) {
  const std::string node = "autograd::engine::evaluate_function: ";
  for (Layer& layer : model.layers) {
    replace(layer.forward, "aten::gelu", written_out(kGelu, "", !eager));
    replace(layer.backward, node + "GeluBackward0", written_out(kGeluBackward, node, !eager));
  }
}

Program unfused_gelu(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({8, 2, 2048, 2048, 16, 50304})};
  write_gelu_out(loop.model, planted(0));
  return run_loop(seed, loop);
}

/// A kernel of the program's own in every layer.
Loop with_own_kernel(Model model, const Kernel& kernel, const std::string& op) {
  Loop loop{std::move(model)};
  for (Layer& layer : loop.model.layers)
    layer.forward.push_back({op, "", shapes_of({{4096, 4096}}), types_of("c10::BFloat16", 1), {kernel}});
  return loop;
}

Program too_much_shared_memory(std::uint64_t seed, Planted planted) {
  const std::string name = "void interpolate_features_kernel<float, 64>(float const*, int const*, float*, int)";
  // 200 KB for a block of two warps: a multiprocessor has room for one.
  const Kernel full{name, 330, 64 * kMultiprocessors, 256, 40, 0};
  const Kernel empty{name, 900, 256 * kMultiprocessors, 64, 96, 200'000};
  return run_loop(seed, with_own_kernel(mlp({10, 4096, 4096}), planted(0) ? empty : full, "my_ops::interpolate"));
}

Program one_block_too_many(std::uint64_t seed, Planted planted) {
  const std::string name = "void fused_router_kernel<__nv_bfloat16, 1024>(__nv_bfloat16 const*, float*, int, int)";
  // Two blocks fit on a multiprocessor: 264 at a time, and of 270 six are left over.
  const Kernel whole{name, 420, 2 * kMultiprocessors, 1024, 32, 40'000};
  const Kernel left_over{name, 810, 2 * kMultiprocessors + 6, 1024, 32, 40'000};
  return run_loop(seed, with_own_kernel(mlp({10, 4096, 4096}), planted(0) ? left_over : whole, "my_ops::route"));
}

/// Two layers are left out of mixed precision, and TF32 is off.
Program single_precision(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({12, 4096, 2048})};
  if (planted(0)) {
    const Model floats = mlp({2, 4096, 2048, Math::kFp32});
    for (std::size_t i = 0; i < 2; ++i) {
      loop.model.layers[4 + i].forward = floats.layers[i].forward;
      loop.model.layers[4 + i].backward = floats.layers[i].backward;
    }
  }
  return run_loop(seed, loop);
}

Program odd_vocabulary(std::uint64_t seed, Planted planted) {
  TransformerShape shape{8, 2, 2048, 2048, 16, 50304};
  if (planted(0)) {
    shape.vocabulary = 50257;
    shape.head_math = Math::kMisaligned;
  }
  return run_loop(seed, Loop{transformer(shape)});
}

Program tensor_float(std::uint64_t seed, Planted planted) {
  return run_loop(seed, Loop{cnn({20, 192, 150, planted(0) ? Math::kTf32 : Math::kBf16})});
}

/// NVML's bits: 4 the power limit, 0x20 the temperature.
Program hot_device(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({8, 4, 2048, 2048, 16, 50304})};
  loop.steps = 32;
  loop.before_step = [planted](Simulation& run, int step) {
    if (planted(0) && step >= 6) run.set_clock(step == 6 ? 1605 : 1290, 0x20, 89);
  };
  return run_loop(seed, loop);
}

Program chain_and_vocabulary(std::uint64_t seed, Planted planted) {
  TransformerShape shape{10, 2, 2048, 2048, 16, 50304};
  if (planted(0)) {
    shape.vocabulary = 50257;
    shape.head_math = Math::kMisaligned;
  }
  Loop loop{transformer(shape)};
  write_gelu_out(loop.model, planted(1));
  return run_loop(seed, loop);
}

Program gan(std::uint64_t seed, Planted planted) {
  const Model generator = cnn({8, 128, 120});
  const Model discriminator = cnn({10, 128, 140, planted(0) ? Math::kTf32 : Math::kBf16});
  Simulation run(seed);
  run.sample_sensors();
  TwoStepsAhead ahead;
  for (int step = 0; step < 24; ++step) {
    run.begin_step();
    ahead.wait(run);
    {
      const auto data = run.range("data");
      default_data(run, generator);
    }
    for (const Model* model : {&discriminator, &generator}) {
      const auto part = run.range(model == &generator ? "generator" : "discriminator");
      Loop loop{*model};
      run_forward(run, loop, step);
      run_backward(run, loop, step);
      run_optimizer(run, *model);
    }
    ahead.mark(run);
    if (planted(1)) {
      for (int i = 0; i < 3; ++i) {
        const auto range = run.range("log_losses");
        run.item();
        run.host(450);
      }
    }
  }
  return run.finish();
}

}  // namespace

std::vector<AdviceCase> visible_device_cases() {
  using R = AdviceRule;
  return {
      {"GELU is written out in elementwise operators", {{R::kElementwiseChain}}, alone(unfused_gelu), {}, true},
      {"a kernel takes all shared memory for two warps", {{R::kLowOccupancy}}, alone(too_much_shared_memory), {}},
      {"a kernel has six blocks more than fit at a time", {{R::kTailWave}}, alone(one_block_too_many), {}},
      {"products of floats without tensor cores",
       {{R::kNoTensorCores, R::kFp32Math}},
       alone(single_precision),
       {{R::kNoTensorCores, "the other name of the cause"}, {R::kFp32Math, "the other name of the cause"}}},
      {"a vocabulary of 50257", {{R::kGemmAlignment}}, alone(odd_vocabulary), {}},
      {"a CNN in TF32", {{R::kFp32Math}}, alone(tensor_float), {}},
      {"the device gets too hot", {{R::kClocks}}, alone(hot_device), {}},
      {"a vocabulary of 50257, and GELU written out",
       {{R::kGemmAlignment}, {R::kElementwiseChain}},
       alone(chain_and_vocabulary),
       {}},
      {"a GAN whose discriminator runs in TF32, and that reads its losses",
       {{R::kFp32Math}, {R::kImplicitSynchronization}},
       alone(gan),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
