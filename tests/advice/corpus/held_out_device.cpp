// SPDX-License-Identifier: MIT
//
// Causes on the device's side, of the half that rules are not made with.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/held_out_models.hpp"
#include "advice/corpus/held_out_names.hpp"
#include "advice/corpus/third_models.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

/// The loss of so many images, for each level of a pyramid alone.
void add_focal_loss(Model& model, std::int64_t images, bool pieces) {
  Layer loss{"sigmoid_focal_loss", {}, {}, 0};
  for (const std::int64_t anchors : {150'000, 37'500, 9'450})
    append(loss.forward, focal_loss_ops(images * anchors, !pieces));
  model.layers.push_back(std::move(loss));
}

Program focal_loss_in_pieces(std::uint64_t seed, Planted planted) {
  Loop loop{bottleneck_net({32, 100, {2, 3, 4, 2}})};
  loop.names = detectron_names();
  add_focal_loss(loop.model, 6, planted(0));
  return run_loop(seed, loop);
}

/// A tile of an image is drawn by two warps, which keep what they read in 110 KB; or by eight.
Kernel tiles(bool two_warps) {
  const std::string name = "void gsplat::rasterize_to_pixels_fwd_kernel<32u, float>(unsigned int, float2 const*)";
  return two_warps ? Kernel{name, 3'300, 512 * kMultiprocessors, 64, 96, 110'000}
                   : Kernel{name, 1'150, 128 * kMultiprocessors, 256, 40, 0};
}

Program tiles_of_two_warps(std::uint64_t seed, Planted planted) {
  Loop loop{gaussian_splats({})};
  loop.names = scene_names();
  loop.model.layers[kRender].forward.push_back(
      simple_op("gsplat::rasterize_to_pixels", {3'000'000, 32}, tiles(planted(0))));
  return run_loop(seed, loop);
}

/// Four blocks fit on a multiprocessor: 528 at a time. A block for each row, or fourteen rows more than that.
Kernel rows_of_attention(bool more) {
  const std::string name = "void ms_deformable_im2col_gpu_kernel<c10::BFloat16>(int, c10::BFloat16 const*)";
  return more ? Kernel{name, 1'060, 4 * kMultiprocessors + 14, 256, 60, 48'000}
              : Kernel{name, 545, 4 * kMultiprocessors, 256, 60, 48'000};
}

Program fourteen_rows_more(std::uint64_t seed, Planted planted) {
  Loop loop{patch_transformer({8, 32, 576, 768, 96})};
  loop.names = detectron_names();
  launch_in_layers(loop.model, 1, "MultiScaleDeformableAttention::ms_deform_attn", rows_of_attention(planted(0)));
  return run_loop(seed, loop);
}

/// torch.set_float32_matmul_precision("highest"), and a layer that is left out of mixed precision.
Program highest_precision(std::uint64_t seed, Planted planted) {
  ClickShape shape{49152, 352, 3, 1536};
  shape.first = planted(0) ? Math::kFp32 : Math::kBf16;
  Loop loop{click_through(shape)};
  loop.names = torchrec_names();
  return run_loop(seed, loop);
}

/// Columns that a pruner left, in all encoder blocks.
Program pruned_columns(std::uint64_t seed, Planted planted) {
  EncoderDecoderShape shape{4, 12288, 768, 1536};
  shape.hidden = planted(0) ? 3'331 : 3'328;
  shape.hidden_math = planted(0) ? Math::kMisaligned : Math::kBf16;
  // Those of the decoder were not pruned.
  Loop loop{encoder_decoder(shape)};
  loop.names = fairseq_names();
  return run_loop(seed, loop);
}

/// No autocast around the network.
Program volumes_in_tensor_float(std::uint64_t seed, Planted planted) {
  VolumeShape shape{2, 96, 64, 4};
  shape.math = planted(0) ? Math::kTf32 : Math::kBf16;
  Loop loop{volume_net(shape)};
  loop.names = segmentation_names();
  return run_loop(seed, loop);
}

/// NVML's bit 0x20: the driver slows down because it is warm, again and again, until it has cooled.
void throttle_in_turns(Loop& loop, bool throttled, int period, int slow_steps, std::uint32_t mhz) {
  loop.before_step = [=](Simulation& run, int step) {
    if (!throttled || step < 6) return;
    if (step % period < slow_steps)
      run.set_clock(mhz, 0x20, 87);
    else
      run.set_clock(1980, 0, 82);
  };
}

Program warm_by_turns(std::uint64_t seed, Planted planted) {
  Loop loop{encoder_decoder({5, 16384, 512, 1280, 3584})};
  loop.steps = 42;
  loop.names = deepspeed_names();
  throttle_in_turns(loop, planted(0), 7, 5, 1260);
  return run_loop(seed, loop);
}

/// The driver slows down most of the time; and the loss is in pieces.
Program warm_with_focal_loss(std::uint64_t seed, Planted planted) {
  Loop loop{bottleneck_net({48, 84, {3, 4, 6, 3}})};
  loop.steps = 40;
  loop.names = reference_names();
  add_focal_loss(loop.model, 6, planted(1));
  throttle_in_turns(loop, planted(0), 10, 9, 1320);
  return run_loop(seed, loop);
}

/// Tiles by two warps; and a loss that is read in each step.
Program tiles_and_losses(std::uint64_t seed, Planted planted) {
  Loop loop{gaussian_splats({2e6, 1.6e6})};
  loop.names = scene_names();
  loop.model.layers[kRender].forward.push_back(
      simple_op("gsplat::rasterize_to_pixels", {2'000'000, 32}, tiles(planted(0))));
  loop.after_backward = [planted](Simulation& run, int) {
    const auto log = run.range("writer.put_scalar");
    if (planted(1)) run.item();
    run.host(860);
  };
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> held_out_device_cases() {
  using R = AdviceRule;
  return {
      {"the focal loss is written out in operators", {{R::kElementwiseChain}}, alone(focal_loss_in_pieces), {}, true},
      {"tiles are drawn by two warps each", {{R::kLowOccupancy}}, alone(tiles_of_two_warps), {}, true},
      {"fourteen rows more than fit at a time", {{R::kTailWave}}, alone(fourteen_rows_more), {}},
      {"the first layer for clicks in highest precision",
       {{R::kNoTensorCores, R::kFp32Math}},
       alone(highest_precision),
       {{R::kNoTensorCores, "the other name of the cause"}, {R::kFp32Math, "the other name of the cause"}}},
      {"a pruner left 3331 columns", {{R::kGemmAlignment}}, alone(pruned_columns), {}},
      {"a network for volumes in TF32", {{R::kFp32Math}}, alone(volumes_in_tensor_float), {}},
      {"the driver slows the device by turns", {{R::kClocks}}, alone(warm_by_turns), {}},
      {"a slow clock, and the focal loss in operators",
       {{R::kClocks}, {R::kElementwiseChain}},
       alone(warm_with_focal_loss),
       {}},
      {"tiles of two warps, and losses that are read",
       {{R::kLowOccupancy}, {R::kImplicitSynchronization}},
       alone(tiles_and_losses),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
