// SPDX-License-Identifier: MIT
//
// Programs with nothing worth changing, of the fourth part of the visible half.
#include "advice/corpus/allocator.hpp"
#include "advice/corpus/cases.hpp"
#include "advice/corpus/fourth_models.hpp"
#include "advice/corpus/fourth_names.hpp"
#include "advice/corpus/fourth_on_host.hpp"
#include "advice/corpus/third_models.hpp"

#include <utility>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

Loop good_loop(Model model, LoopNames names) {
  Loop loop{std::move(model)};
  loop.names = std::move(names);
  return loop;
}

Program plain_diffusion(std::uint64_t seed, Planted) {
  return run_loop(seed, good_loop(diffusion_transformer({10}), spanish_names()));
}

Program plain_state_space(std::uint64_t seed, Planted) {
  return run_loop(seed, good_loop(state_space({5}), trainer_names()));
}

std::vector<Program> sums_take_turns(std::uint64_t seed, Planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop = good_loop(mlp({14, 4096, 8192}), terse_names());
    loop.steps = 16;
    rename_layers(loop.model, "decoder.layers.first", "decoder.layers.", "decoder.layers.last");
    sum_layers(loop, meeting, std::int64_t{2048} * 8192, true);
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

/// What is gathered first, a small layer, is all that a step waits for.
std::vector<Program> gathers_ahead_of_use(std::uint64_t seed, Planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    Loop loop = good_loop(mlp({12, 4096, 8192}), trainer_names());
    loop.steps = 14;
    rename_layers(loop.model, "h.in", "h.", "h.out");
    loop.model.layers.front().parameters = 2'000'000;
    shard_optimizer(loop, meeting, true);
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

/// Texts and images in two towers on two streams, whose embeddings all ranks gather for the loss.
std::vector<Program> two_towers(std::uint64_t seed, Planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop = good_loop(transformer({10, 64, 256, 1024, 16, 1024}), lightning_names());
    loop.steps = 16;
    rename_layers(loop.model, "visual.patch_embed", "visual.blocks.", "visual.proj");
    constexpr std::int64_t kTextStream = 24, kTokens = 4'928;  // 64 texts of 77
    loop.after_layer = [](Simulation& run, int, std::size_t layer) {
      if (layer % 4 != 0) return;
      const auto text = run.op("clip::encode_text_block", "[[64,77,512]]", "[\"c10::BFloat16\"]");
      run.launch(gemm_kernel(kTokens, 2048, 512, Math::kBf16), kTextStream);
      run.launch(gemm_kernel(kTokens, 512, 2048, Math::kBf16), kTextStream);
    };
    loop.after_forward = [&meeting](Simulation& run, int) {
      run.wait_event(kComputeStream, kTextStream);
      run.collective(CollectiveKind::kAllGather, std::int64_t{4} * 64 * 1024, "BFloat16", meeting);
      run.wait_event(kComputeStream, kNcclStream);
    };
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

/// Losses are summed up on the device, and read once in 16 steps.
Program reads_one_in_sixteen(std::uint64_t seed, Planted) {
  Loop loop = good_loop(conformer({5}), lightning_names());
  loop.steps = 32;
  loop.after_step = [](Simulation& run, int step) {
    run_op(run, elementwise_op("aten::add_", "CUDAFunctor_add<float>", {1}, Math::kFp32, 2));
    if (step % 16 != 15) return;
    const auto log = run.range("MetricLogger.flush");
    for (int value = 0; value < 2; ++value) run.item();
    run.host(240);
  };
  return run_loop(seed, loop);
}

/// The first two steps compile, tune, load and allocate.
Program tunes_at_first(std::uint64_t seed, Planted) {
  Loop loop = good_loop(pair_former({6}), spanish_names());
  loop.before_step = [](Simulation& run, int step) {
    if (step > 1) return;
    {
      const auto compile = run.range("_compile.compile_inner (dynamo_timed)");
      run.host(90'000);
      const auto tune = run.range("CachingAutotuner.benchmark_all_configs (dynamo_timed)");
      for (int kernel = 0; kernel < 12; ++kernel) {
        run.call("cuModuleLoadData", 700);
        run.launch(fused_kernel("add_mul_sigmoid", 1.5e8));
        run.synchronize_device();
      }
    }
    for (int i = 0; i < 10; ++i) run.allocate(768u << 20, 420);
    run.overhead("Lazy Function Loading", 2'600);
  };
  return run_loop(seed, loop);
}

/// Six steps of diffusion, whose time steps the host knows; images leave behind the computation.
Program samples_images(std::uint64_t seed, Planted) {
  Loop denoiser{diffusion_transformer({8, 64})};
  denoiser.names.forward = "transformer";
  Simulation run(seed);
  TwoStepsAhead ahead;
  for (int step = 0; step < 16; ++step) {
    run.begin_step();
    const auto whole = run.range("pipeline.__call__");
    ahead.wait(run);
    in_range(run, "prepare_latents", [&] { default_data(run, denoiser.model); });
    for (int iteration = 0; iteration < 6; ++iteration) {
      const auto denoise = run.range("denoising_step");
      run_forward(run, denoiser, step);
      const auto scheduler = run.range("scheduler.step");
      run.host(310);
      run_op(run, elementwise_op("aten::lerp", "lerp_scalar_kernel", {64, 4, 32, 32}, Math::kFp32, 2));
    }
    run.wait_event(kCopyStream, kComputeStream);
    run.copy_to_host(std::uint64_t{64} * 4 * 32 * 32 * 4, HostMemory::kPinned, kCopyStream);
    ahead.mark(run);
  }
  return run.finish();
}

/// A server: a piece of a prompt eagerly, and then a token of all others by a graph.
Program prefills_and_decodes(std::uint64_t seed, Planted) {
  Loop prefill{transformer({6, 2, 2048, 4096, 32, 32000})};
  prefill.training = false;
  prefill.names.forward = "prefill_chunk";
  Loop decode{decoder({12, 64, 4096})};
  decode.training = false;
  Simulation run(seed);
  TwoStepsAhead ahead;
  for (int step = 0; step < 30; ++step) {
    run.begin_step();
    const auto whole = run.range("engine_iteration");
    ahead.wait(run);
    in_range(run, "schedule", [&] { run.host(420); });
    in_range(run, "prepare_inputs", [&] { default_data(run, prefill.model); });
    run_forward(run, prefill, step);
    in_range(run, "decode_tokens", [&] { run.launch_graph(kernels_of_step(decode), 2); });
    run.wait_event(kCopyStream, kComputeStream);
    run.copy_to_host(512, HostMemory::kPinned, kCopyStream);
    ahead.mark(run);
  }
  return run.finish();
}

Program small_policy_in_a_graph(std::uint64_t seed, Planted) {
  Loop loop = good_loop(mlp({8, 8448, 512}), terse_names());
  rename_layers(loop.model, "actor.0", "actor.", "critic");
  loop.names.step = "ppo_minibatch";
  loop.steps = 44;
  loop.graph = true;
  return run_loop(seed, loop);
}

/// An average of the weights, by few kernels for all of them.
Program averages_weights(std::uint64_t seed, Planted) {
  Loop loop = good_loop(conformer({6}), trainer_names());
  loop.after_backward = [](Simulation& run, int) {
    const auto average = run.range("ema.update");
    const auto op = run.op("aten::_foreach_lerp_", "[[],[],[]]", "[\"TensorList\",\"TensorList\",\"Scalar\"]");
    for (int launch = 0; launch < 3; ++launch)
      run.launch(
          {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
           "TensorListMetadata<2>, at::native::(anonymous namespace)::TernaryOpScalarFunctor<float, 2, 2, 0> >",
           96, 12 * kMultiprocessors, 512, 32, 0});
  };
  return run_loop(seed, loop);
}

/// Large volumes go to the device from pinned memory, while the ones before are computed.
Program pinned_volumes(std::uint64_t seed, Planted) {
  Loop loop = good_loop(cnn({18, 8, 150}), spanish_names());
  rename_layers(loop.model, "entrada", "codificador.", "salida");
  loop.model.batch_bytes = std::uint64_t{8} * 192 * 192 * 128 * 4;
  return run_loop(seed, loop);
}

/// The loss is computed with floats: a product that takes half a percent of the step.
Program loss_of_floats(std::uint64_t seed, Planted) {
  Loop loop = good_loop(state_space({5}), lightning_names());
  loop.model.layers[3].forward.push_back(linear_op(4096, 512, 2048, Math::kFp32));
  return run_loop(seed, loop);
}

/// A first product with 147 columns, in a model of many large ones.
Program colours_of_patches(std::uint64_t seed, Planted) {
  Loop loop = good_loop(diffusion_transformer({10, 96}), terse_names());
  Layer patches{"x_embedder", {linear_op(24576, 768, 147, Math::kMisaligned)}, {}, std::int64_t{768} * 147};
  patches.backward = linear_backward_ops(24576, 768, 147, Math::kMisaligned);
  loop.model.layers.insert(loop.model.layers.begin(), std::move(patches));
  return run_loop(seed, loop);
}

/// Twelve waves of a kernel, and a few blocks.
Program twelve_waves(std::uint64_t seed, Planted) {
  Loop loop = good_loop(pair_former({6}), lightning_names());
  launch_in_layers(loop.model, 2, "my_ops::fused_triangle",
                   {"void fused_triangle_kernel<__nv_bfloat16, 128, 64>(TriangleParams)", 390,
                    36 * kMultiprocessors + 10, 256, 72, 70'000});
  return run_loop(seed, loop);
}

/// The clocks come up from idle in the first step.
Program clocks_come_up(std::uint64_t seed, Planted) {
  Loop loop = good_loop(conformer({6}), spanish_names());
  loop.before_step = [](Simulation& run, int step) {
    if (step == 0) run.set_clock(1200, 0x1, 41);
    if (step == 1) run.set_clock(1980, 0, 55);
  };
  return run_loop(seed, loop);
}

/// Sizes vary, and the allocator has room enough.
Program room_for_any_shape(std::uint64_t seed, Planted) {
  Loop loop = good_loop(voxel_net({16}), trainer_names());
  loop.before_step = [](Simulation& run, int step) {
    if (step != 0) return;
    for (int i = 0; i < 8; ++i) run.allocate(2u << 30, 510);
  };
  loop.after_step = [](Simulation& run, int step) {
    count_memory(run, (61 + step % 5) * kGb, 79 * kGb, (4 + step % 3) * kGb, 0);
  };
  return run_loop(seed, loop);
}

/// Scenes are read in 4 ms a step; the device has work for 9.
Program scenes_in_time(std::uint64_t seed, Planted) {
  Loop loop = good_loop(voxel_net({18}), lightning_names());
  loop.data = [model = loop.model](Simulation& run, int) {
    {
      const auto read = run.range("np.fromfile");
      run.host(4'000);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

std::vector<Program> five_good_rankers(std::uint64_t seed, Planted) {
  return run_job(5, [=](int rank, Meeting& meeting) {
    HostLoop loop = ranking_loop();
    loop.layer_us = 2'100;
    loop.meeting = &meeting;
    loop.parameters = 35'000;
    return run_on_host(host_job_seed(seed, rank), loop);
  });
}

Program sixteen_even_threads(std::uint64_t seed, Planted) {
  ThreadedLoop loop = pricing_loop();
  loop.phases = 3;
  loop.phase_us = 110'000;
  return run_threaded(seed, loop);
}

}  // namespace

std::vector<AdviceCase> fourth_healthy_cases() {
  return {
      {"diffusion as it should be", {}, alone(plain_diffusion), {}, true},
      {"state-space layers as they should be", {}, alone(plain_state_space), {}},
      {"4 ranks whose halves of a batch take turns", {}, sums_take_turns, {}},
      {"8 ranks that gather parameters ahead", {}, gathers_ahead_of_use, {}},
      {"two towers on two streams", {}, two_towers, {}},
      {"losses are read once in 16 steps", {}, alone(reads_one_in_sixteen), {}, true},
      {"the first two steps tune and allocate", {}, alone(tunes_at_first), {}, true},
      {"images are sampled without a wait", {}, alone(samples_images), {}, true},
      {"a server that prefills and decodes", {}, alone(prefills_and_decodes), {}},
      {"a small policy in a CUDA graph", {}, alone(small_policy_in_a_graph), {}},
      {"an average of the weights", {}, alone(averages_weights), {}},
      {"large volumes from pinned memory", {}, alone(pinned_volumes), {}},
      {"a loss of floats", {}, alone(loss_of_floats), {}},
      {"colours of patches in 147 columns", {}, alone(colours_of_patches), {}},
      {"twelve waves and a few blocks", {}, alone(twelve_waves), {}},
      {"clocks come up from idle", {}, alone(clocks_come_up), {}},
      {"room enough for any shape", {}, alone(room_for_any_shape), {}},
      {"scenes that are read in time", {}, alone(scenes_in_time), {}},
      {"5 Gloo ranks as they should be", {}, five_good_rankers, {}, true},
      {"sixteen threads with the same work", {}, alone(sixteen_even_threads), {}},
  };
}

}  // namespace rangefinder::testing::corpus
