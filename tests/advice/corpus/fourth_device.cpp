// SPDX-License-Identifier: MIT
//
// Causes on the device's side, of the fourth part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/fourth_models.hpp"
#include "advice/corpus/fourth_names.hpp"
#include "advice/corpus/third_models.hpp"

#include <string>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

DiffusionShape diffusion_in_pieces(std::int64_t blocks, std::int64_t images, bool pieces) {
  DiffusionShape shape{blocks, images};
  shape.fused = !pieces;
  return shape;
}

Program modulation_in_pieces(std::uint64_t seed, Planted planted) {
  Loop loop{diffusion_transformer(diffusion_in_pieces(9, 128, planted(0)))};
  loop.names = spanish_names();
  return run_loop(seed, loop);
}

/// The matrices have an optimizer of the program's own, written out; AdamW has the rest.
Program optimizer_in_pieces(std::uint64_t seed, Planted planted) {
  Loop loop{conformer({5})};
  loop.names = lightning_names();
  for (Layer& layer : loop.model.layers) layer.parameters /= 20;
  loop.after_backward = [planted](Simulation& run, int) {
    const auto lion = run.range("Optimizer.step#Lion.step");
    for (const Op& op : lion_ops(8, 60'000'000, !planted(0))) run_op(run, op);
  };
  return run_loop(seed, loop);
}

/// A lattice of a loss for speech, by a warp a block that has 100 KB of shared memory, or by eight.
Kernel lattice(bool one_warp, const char* pass) {
  const std::string name = std::string("void rnnt_") + pass + "_kernel<float, 32>(float const*, int const*, float*)";
  return one_warp ? Kernel{name, 2'900, 768 * kMultiprocessors, 32, 96, 100'000}
                  : Kernel{name, 1'050, 96 * kMultiprocessors, 256, 40, 0};
}

Program lattice_of_single_warps(std::uint64_t seed, Planted planted) {
  Loop loop{conformer({5})};
  loop.names = trainer_names();
  Layer loss{"joiner", {}, {}, 0};
  loss.forward.push_back(simple_op("warp_rnnt::forward", {32, 1024, 96}, lattice(planted(0), "alphas")));
  loss.backward.push_back(simple_op(autograd_node("WarpRnnt"), {32, 1024, 96}, lattice(planted(0), "betas")));
  loop.model.layers.push_back(std::move(loss));
  return run_loop(seed, loop);
}

/// 70 KB a block: three fit on a multiprocessor, 396 at a time. Two waves, or ten blocks more.
Kernel triangles(bool ten_more) {
  const std::string name = "void fused_triangle_kernel<__nv_bfloat16, 128, 64>(TriangleParams)";
  return ten_more ? Kernel{name, 1'420, 6 * kMultiprocessors + 10, 256, 72, 70'000}
                  : Kernel{name, 960, 6 * kMultiprocessors, 256, 72, 70'000};
}

Program ten_blocks_more(std::uint64_t seed, Planted planted) {
  Loop loop{pair_former({})};
  loop.names = terse_names();
  launch_in_layers(loop.model, 1, "my_ops::fused_triangle", triangles(planted(0)));
  return run_loop(seed, loop);
}

/// One transition is in half precision, and so narrow that the library takes a kernel without tensor cores.
Program transition_without_cores(std::uint64_t seed, Planted planted) {
  FoldingShape shape{5};
  shape.transition = planted(0) ? Math::kHalfWithoutCores : Math::kBf16;
  Loop loop{pair_former(shape)};
  loop.names = spanish_names();
  return run_loop(seed, loop);
}

StateSpaceShape one_token_more(std::int64_t layers, bool more) {
  StateSpaceShape shape{layers};
  if (more) {
    shape.vocabulary = 32001;
    shape.head_math = Math::kMisaligned;
  }
  return shape;
}

Program padding_token(std::uint64_t seed, Planted planted) {
  Loop loop{state_space(one_token_more(6, planted(0)))};
  loop.names = trainer_names();
  return run_loop(seed, loop);
}

/// Mixed precision is off in the feed-forward parts.
Program speech_in_tensor_float(std::uint64_t seed, Planted planted) {
  ConformerShape shape{6};
  shape.feed_forward = planted(0) ? Math::kTf32 : Math::kBf16;
  Loop loop{conformer(shape)};
  loop.names = lightning_names();
  return run_loop(seed, loop);
}

/// NVML's bit 0x40: the hardware slows down because it is hot.
Program slowed_by_heat(std::uint64_t seed, Planted planted) {
  Loop loop{voxel_net({16})};
  loop.steps = 44;
  loop.names = terse_names();
  loop.before_step = [planted](Simulation& run, int step) {
    if (planted(0) && step >= 9) run.set_clock(step < 12 ? 1500 : 1185, 0x40, 88);
  };
  return run_loop(seed, loop);
}

/// One token more, and a scan of single warps with all registers.
Program padding_token_and_scan(std::uint64_t seed, Planted planted) {
  Loop loop{state_space(one_token_more(5, planted(0)))};
  loop.names = spanish_names();
  const std::string name = "void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<32, 4, 1, true> >";
  const Kernel scan = planted(1) ? Kernel{name, 1'750, 640 * kMultiprocessors, 32, 248, 0}
                                 : Kernel{name, 620, 80 * kMultiprocessors, 256, 48, 0};
  launch_in_layers(loop.model, 2, "my_ops::selective_scan", scan);
  return run_loop(seed, loop);
}

/// The modulation in pieces; and a kernel of the program's own with a last wave of nine blocks.
Program modulation_and_nine_blocks(std::uint64_t seed, Planted planted) {
  Loop loop{diffusion_transformer(diffusion_in_pieces(8, 160, planted(0)))};
  without_module_ranges(loop.model);
  const std::string name = "void neighborhood_attention_kernel<__nv_bfloat16, 7, 64>(NeighborhoodParams)";
  const Kernel kernel = planted(1) ? Kernel{name, 1'330, 3 * kMultiprocessors + 9, 256, 80, 72'000}
                                   : Kernel{name, 690, 3 * kMultiprocessors, 256, 80, 72'000};
  launch_in_layers(loop.model, 2, "natten::na2d", kernel);
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> fourth_device_cases() {
  using R = AdviceRule;
  return {
      {"norms are scaled and shifted in pieces", {{R::kElementwiseChain}}, alone(modulation_in_pieces), {}, true},
      {"an optimizer is written out in operators", {{R::kElementwiseChain}}, alone(optimizer_in_pieces), {}},
      {"a loss is computed by single warps", {{R::kLowOccupancy}}, alone(lattice_of_single_warps), {}, true},
      {"two waves of triangles, and ten blocks more", {{R::kTailWave}}, alone(ten_blocks_more), {}},
      {"a narrow transition does without tensor cores", {{R::kNoTensorCores}}, alone(transition_without_cores), {}},
      {"a vocabulary with one token more", {{R::kGemmAlignment}}, alone(padding_token), {}},
      {"the feed-forward parts of speech in TF32", {{R::kFp32Math}}, alone(speech_in_tensor_float), {}},
      {"heat slows the device", {{R::kClocks}}, alone(slowed_by_heat), {}},
      {"one token more, and a scan by single warps",
       {{R::kGemmAlignment}, {R::kLowOccupancy}},
       alone(padding_token_and_scan),
       {}},
      {"norms in pieces, and a kernel with nine blocks more",
       {{R::kElementwiseChain}, {R::kTailWave}},
       alone(modulation_and_nine_blocks),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
