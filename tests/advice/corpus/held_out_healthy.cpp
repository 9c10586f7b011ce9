// SPDX-License-Identifier: MIT
//
// Programs with nothing worth changing, of the half that rules are not made with.
#include "advice/corpus/allocator.hpp"
#include "advice/corpus/cases.hpp"
#include "advice/corpus/held_out_models.hpp"
#include "advice/corpus/held_out_names.hpp"
#include "advice/corpus/held_out_on_host.hpp"
#include "advice/corpus/third_jobs.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

Program plain_bottlenecks(std::uint64_t seed, Planted) {
  return run_loop(seed, named_loop(bottleneck_net({192, 56, {3, 4, 6, 3}}), reference_names()));
}

Program plain_encoder_decoder(std::uint64_t seed, Planted) {
  return run_loop(seed, named_loop(encoder_decoder({5, 24576, 1024, 1024}), fairseq_names()));
}

/// Buffers are as large as they will ever have to be, so that nobody asks how many Gaussians there are.
Program splats_in_fixed_buffers(std::uint64_t seed, Planted) {
  Loop loop = named_loop(gaussian_splats({4e6, 2.2e6}), scene_names());
  loop.before_step = [](Simulation& run, int step) {
    for (int buffer = 0; step == 0 && buffer < 3; ++buffer) run.allocate(640u << 20, 390);
  };
  return run_loop(seed, loop);
}

/// An image is drawn to look at in one step of 36, by many small pieces that are each read.
Program looks_at_an_image_once(std::uint64_t seed, Planted) {
  Loop loop = named_loop(radiance_field({4, 5e6}), scene_names());
  loop.steps = 36;
  loop.after_step = [model = loop.model](Simulation& run, int step) {
    if (step != 20) return;
    const auto image = run.range("get_eval_image_metrics_and_images");
    for (int piece = 0; piece < 3; ++piece) {
      for (const Layer& layer : model.layers)
        for (const Op& op : layer.forward) run_op(run, op);
      run.item();
    }
  };
  return run_loop(seed, loop);
}

Program volumes_from_pinned_memory(std::uint64_t seed, Planted) {
  return run_loop(seed, named_loop(volume_net({4, 112, 32, 5}), segmentation_names()));
}

/// Molecules one at a time, by a CUDA graph.
Program forces_in_a_graph(std::uint64_t seed, Planted) {
  Loop loop =
      named_loop(interatomic_potential({4, 6'000, 128}), {"MDStep", "neighbor_list", "", "", "", "energy_and_forces"});
  loop.steps = 40;
  loop.graph = true;
  return run_loop(seed, loop);
}

/// What is logged is copied when it is there, and looked at two steps later.
Program logs_two_steps_later(std::uint64_t seed, Planted) {
  Loop loop = named_loop(transformer({6, 8, 1024, 1536, 12, 50304}),
                         {"", "get_batch", "model", "loss.backward", "optimizer.step", ""});
  rename_layers(loop.model, "transformer.wte", "transformer.h.", "lm_head");
  const auto copied = std::make_shared<std::deque<ProgramEvent>>();
  loop.after_step = [copied](Simulation& run, int) {
    const auto log = run.range("log_iter");
    run.copy_to_host(4, HostMemory::kPinned);
    copied->push_back(run.record_event());
    if (copied->size() < 3) return;
    run.synchronize_event(copied->front());
    copied->pop_front();
    run.host(60);
  };
  return run_loop(seed, loop);
}

/// Small boxes: a list that each image has, a product of 91 classes, and kernels of single warps that take 15 us.
Program small_parts_of_a_detector(std::uint64_t seed, Planted) {
  Loop loop = named_loop(bottleneck_net({64, 100, {3, 4, 6, 3}}), detectron_names());
  Layer heads{"roi_heads.box_predictor", {linear_op(8192, 91, 1024, Math::kMisaligned)}, {}, std::int64_t{1024} * 91};
  heads.backward = linear_backward_ops(8192, 91, 1024, Math::kMisaligned);
  heads.forward.push_back(
      simple_op("torchvision::roi_align", {8192, 256, 7, 7},
                {"void roi_align_forward_kernel_impl<c10::BFloat16>(int)", 15, 24 * kMultiprocessors, 32, 168, 0}));
  loop.model.layers.push_back(std::move(heads));
  loop.data = [model = loop.model](Simulation& run, int) {
    default_data(run, model);
    for (int image = 0; image < 16; ++image) {
      const auto to = run.op("aten::to", "[[12,4]]", "[\"float\"]");
      run.copy_to_device(192, HostMemory::kPinned);
    }
  };
  return run_loop(seed, loop);
}

Program compiled_focal_loss(std::uint64_t seed, Planted) {
  Loop loop = named_loop(bottleneck_net({48, 84, {3, 4, 6, 3}}), detectron_names());
  Layer loss{"sigmoid_focal_loss", {}, {}, 0};
  for (const std::int64_t anchors : {1'200'000, 300'000, 75'600}) append(loss.forward, focal_loss_ops(anchors, true));
  loop.model.layers.push_back(std::move(loss));
  return run_loop(seed, loop);
}

/// The first step compiles and the second captures; the rest is a graph.
Program warms_up_and_captures(std::uint64_t seed, Planted) {
  Loop loop = named_loop(encoder_decoder({4, 8192}), deepspeed_names());
  loop.names.graph = "cudagraph_trees.replay";
  loop.graph = true;
  loop.steps = 32;
  loop.before_step = [kernels = kernels_of_step(loop).size()](Simulation& run, int step) {
    if (step == 0) {
      const auto compile = run.range("inductor_compile (dynamo_timed)");
      run.host(120'000);
      for (int module = 0; module < 20; ++module) run.call("cuModuleLoadData", 480);
    }
    if (step != 1) return;
    const auto record = run.range("cudagraph_trees.record");
    run.call("cudaStreamBeginCapture", 10);
    for (std::size_t i = 0; i < kernels; ++i) run.call("cudaLaunchKernel", 5);
    run.call("cudaStreamEndCapture", 150);
    run.call("cudaGraphInstantiate", 3'100);
  };
  return run_loop(seed, loop);
}

/// Augmentation takes the main thread 3.5 ms; the device has work for 17.
Program augments_in_time(std::uint64_t seed, Planted) {
  Loop loop = named_loop(volume_net({4, 112, 32, 5}), segmentation_names());
  loop.data = [model = loop.model](Simulation& run, int) {
    {
      const auto augment = run.range("SpatialTransform.apply");
      run.host(3'500);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

/// A board game: positions are judged, and the results go back while the next ones are judged.
Program judges_positions(std::uint64_t seed, Planted) {
  Loop loop = named_loop(cnn({20, 512, 40}), {"search_batch", "encode_positions", "nnet.predict", "", "", ""});
  rename_layers(loop.model, "input_block", "residual.", "policy_value_head");
  loop.training = false;
  loop.steps = 40;
  loop.after_forward = [](Simulation& run, int) {
    run.wait_event(kCopyStream, kComputeStream);
    run.copy_to_host(std::uint64_t{512} * 363 * 4, HostMemory::kPinned, kCopyStream);
  };
  return run_loop(seed, loop);
}

/// A few MHz less, since the board is at its limit of power.
Program nearly_full_clocks(std::uint64_t seed, Planted) {
  Loop loop = named_loop(encoder_decoder({4, 16384, 512, 1536, 4096}), megatron_names());
  loop.before_step = [](Simulation& run, int step) {
    run.set_clock(step % 3 == 0 ? 1965 : 1980, step % 3 == 0 ? 4 : 0);
  };
  return run_loop(seed, loop);
}

/// Most memory is in use, and a retry in the second step has made room for all others.
Program one_retry(std::uint64_t seed, Planted) {
  Loop loop =
      named_loop(unet({8, 40, 640}), {"train_step", "dataloader", "unet", "accelerator.backward", "optimizer", ""});
  loop.after_layer = [](Simulation& run, int step, std::size_t layer) {
    if (step == 1 && layer == 3) give_back_and_retry(run, "aten::empty", 121 * kGb, 134 * kGb, 4);
  };
  loop.after_step = [](Simulation& run, int step) {
    count_memory(run, 121 * kGb, 134 * kGb, 5 * kGb, step == 0 ? 0 : 1);
  };
  return run_loop(seed, loop);
}

std::vector<Program> accumulates_on_two_ranks(std::uint64_t seed, Planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    Loop loop = named_loop(encoder_decoder({3, 12288, 512, 1024}), fairseq_names());
    loop.steps = 14;
    reduce_gradients(loop, meeting, {});
    return accumulate_gradients(held_out_seed(seed, rank), loop, 3);
  });
}

std::vector<Program> vectors_behind_dense_layers(std::uint64_t seed, Planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop = named_loop(recommender({20, 16384, 128, 10, 3072}), torchrec_names());
    loop.steps = 16;
    exchange_vectors(loop, meeting, std::int64_t{20} * 16384 * 128 * 4, 7);
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

std::vector<Program> sequences_take_turns(std::uint64_t seed, Planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    Loop loop = named_loop(mlp({14, 8192, 6144}), megatron_names());
    loop.steps = 16;
    rename_layers(loop.model, "decoder.layers.0.mlp", "decoder.layers.", "output_layer");
    gather_and_scatter_sequences(loop, meeting, std::int64_t{8192} * 3072, true);
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

std::vector<Program> averages_behind_training(std::uint64_t seed, Planted) {
  return run_job(
      4, [=](int rank, Meeting& meeting) { return train_and_average(held_out_seed(seed, rank), meeting, true); });
}

Program even_rows(std::uint64_t seed, Planted) {
  ThreadedLoop loop = sparse_solver();
  loop.phase_us = 96'000;
  loop.phases = 6;
  // By the number of entries, whole rows.
  for (std::size_t i = 0; i < loop.shares.size(); ++i) loop.shares[i] *= i % 2 == 0 ? 1.004 : 0.996;
  return run_threaded(seed, loop);
}

Program plain_sentence_classifier(std::uint64_t seed, Planted) {
  HostLoop loop = sentence_classifier();
  loop.layers = 6;
  return run_on_host(seed, loop);
}

}  // namespace

std::vector<AdviceCase> held_out_healthy_cases() {
  return {
      {"residual blocks as they should be", {}, alone(plain_bottlenecks), {}, true},
      {"an encoder and a decoder as they should be", {}, alone(plain_encoder_decoder), {}},
      {"Gaussians in fixed buffers", {}, alone(splats_in_fixed_buffers), {}, true},
      {"an image to look at in one step of 36", {}, alone(looks_at_an_image_once), {}},
      {"volumes from pinned memory", {}, alone(volumes_from_pinned_memory), {}},
      {"forces in a CUDA graph", {}, alone(forces_in_a_graph), {}},
      {"a loss that is logged two steps later", {}, alone(logs_two_steps_later), {}, true},
      {"small parts of a detector", {}, alone(small_parts_of_a_detector), {}},
      {"a compiled focal loss", {}, alone(compiled_focal_loss), {}},
      {"a graph that is captured in the second step", {}, alone(warms_up_and_captures), {}, true},
      {"augmentation in time", {}, alone(augments_in_time), {}},
      {"positions are judged without a wait", {}, alone(judges_positions), {}},
      {"a clock of nearly all that there is", {}, alone(nearly_full_clocks), {}},
      {"one retry in the second step", {}, alone(one_retry), {}},
      {"2 ranks that accumulate gradients", {}, accumulates_on_two_ranks, {}},
      {"4 ranks whose vectors come in time", {}, vectors_behind_dense_layers, {}},
      {"2 ranks whose sequences take turns", {}, sequences_take_turns, {}},
      {"4 Gloo ranks that average behind training", {}, averages_behind_training, {}, true},
      {"twenty threads with even rows", {}, alone(even_rows), {}},
      {"sentences are classified as they should be", {}, alone(plain_sentence_classifier), {}, true},
  };
}

}  // namespace rangefinder::testing::corpus
