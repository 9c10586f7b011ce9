// SPDX-License-Identifier: MIT
//
// Causes on the device's side, of the third part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/third_models.hpp"

#include <iterator>
#include <string>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

Program rotary_in_pieces(std::uint64_t seed, Planted planted) {
  LlamaShape shape;
  shape.fused = !planted(0);
  Loop loop{llama(shape)};
  loop.names.step = "train_step";
  loop.names.forward = "fwd";
  loop.names.backward = "bwd";
  return run_loop(seed, loop);
}

/// Rays through a volume, a warp for each 32 of them: 240 registers leave room for 8 warps of 64.
Kernel rays(bool one_warp) {
  const std::string name = "void march_rays_kernel<float, 16, 4>(RayBatch, OccupancyGrid, float*, int)";
  return one_warp ? Kernel{name, 690, 1024 * kMultiprocessors, 32, 240, 0}
                  : Kernel{name, 240, 128 * kMultiprocessors, 256, 56, 0};
}

Program rays_of_one_warp(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({9, 32768, 1024})};
  rename_layers(loop.model, "hash_encoding", "density_net.", "color_net");
  loop.names.step = "render_step";
  loop.names.data = "sample_rays";
  loop.names.forward = "render";
  launch_in_layers(loop.model, 2, "nerf::march_rays", rays(planted(0)));
  return run_loop(seed, loop);
}

/// 80 KB a block: two fit on a multiprocessor, 264 at a time. Two waves, or five blocks more.
Kernel permutation(bool five_more) {
  const std::string name = "void permute_tokens_kernel<__nv_bfloat16, 8>(__nv_bfloat16 const*, int const*, int, int)";
  return five_more ? Kernel{name, 1'480, 4 * kMultiprocessors + 5, 512, 56, 80'000}
                   : Kernel{name, 1'000, 4 * kMultiprocessors, 512, 56, 80'000};
}

Program five_blocks_more(std::uint64_t seed, Planted planted) {
  Loop loop{mixture_of_experts({})};
  loop.names.step = "iteration";
  launch_in_layers(loop.model, kPartsOfExperts, "my_ops::permute_tokens", permutation(planted(0)));
  return run_loop(seed, loop);
}

/// The block between the halves of a denoiser is in half precision, for which the library takes a kernel without tensor
/// cores.
Program middle_without_cores(std::uint64_t seed, Planted planted) {
  Loop loop{unet({})};
  Model middle = unet({2, 32, 320, 16, planted(0) ? Math::kHalfWithoutCores : Math::kBf16});
  middle.layers.pop_back();
  middle.layers.front().name = "mid_block.resnet";
  loop.model.layers.insert(loop.model.layers.begin() + 4, middle.layers.front());
  loop.names.step = "denoise_step";
  return run_loop(seed, loop);
}

Program odd_number_of_pairs(std::uint64_t seed, Planted planted) {
  ClickShape shape;
  if (planted(0)) {
    shape.pairs = 479;
    shape.first = Math::kMisaligned;
  }
  Loop loop{click_through(shape)};
  loop.names.step = "train_one_batch";
  return run_loop(seed, loop);
}

/// The way up is left out of mixed precision.
Program way_up_in_tensor_float(std::uint64_t seed, Planted planted) {
  UnetShape shape;
  Loop loop{unet(shape)};
  shape.math = planted(0) ? Math::kTf32 : Math::kBf16;
  const Model other = unet(shape);
  for (std::size_t i = loop.model.layers.size() / 2; i < loop.model.layers.size(); ++i)
    loop.model.layers[i] = other.layers[i];
  loop.names.forward = "unet";
  loop.names.backward = "accelerator.backward";
  return run_loop(seed, loop);
}

/// NVML's bits: 8 the hardware's slowdown, 0x80 the power brake.
Program brakes(std::uint64_t seed, Planted planted) {
  Loop loop{llama({6})};
  loop.steps = 40;
  loop.names.step = "train_step";
  without_module_ranges(loop.model);
  loop.before_step = [planted](Simulation& run, int step) {
    if (planted(0) && step >= 12) run.set_clock(1410, 0x88, 66);
  };
  return run_loop(seed, loop);
}

Program head_in_tensor_float_and_pieces(std::uint64_t seed, Planted planted) {
  LlamaShape shape;
  shape.fused = !planted(1);
  shape.head_math = planted(0) ? Math::kTf32 : Math::kBf16;
  Loop loop{llama(shape)};
  loop.names.forward = "fwd";
  loop.names.backward = "bwd";
  loop.names.optimizer = "opt";
  return run_loop(seed, loop);
}

/// A float layer without tensor cores, and the permutation of another one.
Program floats_and_five_blocks(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({11, 8192, 2560})};
  rename_layers(loop.model, "in_proj", "mixer.", "out_proj");
  if (planted(0)) {
    const Model floats = mlp({1, 8192, 2560, Math::kFp32});
    loop.model.layers[6].forward = floats.layers.front().forward;
    loop.model.layers[6].backward = floats.layers.front().backward;
  }
  loop.names.step = "iteration";
  launch_in_layers(loop.model, 3, "my_ops::permute_tokens", permutation(planted(1)));
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> third_device_cases() {
  using R = AdviceRule;
  return {
      {"rotary embeddings and gates are written out", {{R::kElementwiseChain}}, alone(rotary_in_pieces), {}, true},
      {"rays are marched by single warps", {{R::kLowOccupancy}}, alone(rays_of_one_warp), {}},
      {"two waves of blocks, and five blocks more", {{R::kTailWave}}, alone(five_blocks_more), {}},
      {"the middle of a denoiser does without tensor cores", {{R::kNoTensorCores}}, alone(middle_without_cores), {}},
      {"479 pairs of features", {{R::kGemmAlignment}}, alone(odd_number_of_pairs), {}},
      {"half of a denoiser in TF32", {{R::kFp32Math}}, alone(way_up_in_tensor_float), {}},
      {"the power brake slows the device", {{R::kClocks}}, alone(brakes), {}},
      {"the head in TF32, and rotary embeddings written out",
       {{R::kFp32Math}, {R::kElementwiseChain}},
       alone(head_in_tensor_float_and_pieces),
       {}},
      {"a layer of floats, and a kernel with five blocks more",
       {{R::kNoTensorCores, R::kFp32Math}, {R::kTailWave}},
       alone(floats_and_five_blocks),
       {{R::kNoTensorCores, "the other name of the cause"}, {R::kFp32Math, "the other name of the cause"}}},
  };
}

}  // namespace rangefinder::testing::corpus
