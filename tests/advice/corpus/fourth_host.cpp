// SPDX-License-Identifier: MIT
//
// Causes on the host's side, of the fourth part of the visible half.
#include "advice/corpus/allocator.hpp"
#include "advice/corpus/cases.hpp"
#include "advice/corpus/fourth_models.hpp"
#include "advice/corpus/fourth_names.hpp"
#include "advice/corpus/third_models.hpp"

#include <memory>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

Loop loop_of(Model model, LoopNames names) {
  Loop loop{std::move(model)};
  loop.names = std::move(names);
  return loop;
}

/// Images by six steps of diffusion. The scheduler looks up its place by a time step that is on the device.
Program scheduler_on_device(std::uint64_t seed, Planted planted) {
  Loop denoiser{diffusion_transformer({8, 48})};
  denoiser.names.forward = "transformer";
  Loop decoder{cnn({6, 64, 40})};
  rename_layers(decoder.model, "decoder.conv_in", "decoder.up_blocks.", "decoder.conv_out");
  decoder.names.forward = "vae.decode";
  Simulation run(seed);
  TwoStepsAhead ahead;
  for (int step = 0; step < 18; ++step) {
    run.begin_step();
    const auto whole = run.range("pipeline.__call__");
    ahead.wait(run);
    in_range(run, "prepare_latents", [&] { default_data(run, denoiser.model); });
    for (int iteration = 0; iteration < 6; ++iteration) {
      const auto denoise = run.range("denoising_step");
      run_forward(run, denoiser, step);
      const auto scheduler = run.range("scheduler.step");
      if (planted(0)) run.item();
      run.host(760);
      run_op(run, elementwise_op("aten::lerp", "lerp_scalar_kernel", {48, 4, 32, 32}, Math::kFp32, 2));
    }
    run_forward(run, decoder, step);
    ahead.mark(run);
  }
  return run.finish();
}

/// Reinforcement learning: a policy so small that a kernel is done before the next one is launched.
Program small_policy(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(mlp({6, 8448, 512}), terse_names());
  rename_layers(loop.model, "actor.0", "actor.", "critic");
  loop.names.step = "ppo_minibatch";
  loop.steps = 40;
  loop.graph = !planted(0);
  return run_loop(seed, loop);
}

/// A shard of a data set lasts for three batches; the next one comes late.
Program late_shards(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(conformer({6}), lightning_names());
  loop.data = [planted, model = loop.model](Simulation& run, int step) {
    if (planted(0) && step % 3 == 1) {
      const auto shard = run.range("webdataset.next_shard");
      run.host(150'000);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

/// Features of proteins as NumPy has them.
Program features_of_numpy(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(pair_former({}), trainer_names());
  const std::uint64_t features[] = {21u << 20, 9u << 20, 6u << 20};
  loop.model.batch_bytes = features[0] + features[1] + features[2];
  loop.data = [planted, features, model = loop.model](Simulation& run, int) {
    if (!planted(0)) return default_data(run, model);
    run.host(120);
    for (const std::uint64_t bytes : features) {
      const auto copy = run.op("aten::_to_copy", shapes_of({{static_cast<std::int64_t>(bytes / 4)}}), "[\"float\"]");
      run.copy_to_device(bytes, HostMemory::kPageable);
    }
  };
  return run_loop(seed, loop);
}

constexpr std::uint64_t kSweeps = 900;

/// A lidar's sweeps are copied one by one, as they come from the sensor.
Program copies_each_sweep(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(voxel_net({10}), spanish_names());
  loop.data = [planted](Simulation& run, int) {
    const std::uint64_t copies = planted(0) ? kSweeps : 1;
    for (std::uint64_t i = 0; i < copies; ++i) {
      const auto copy = run.op("aten::copy_", "[[440,5],[440,5],[]]", "[\"float\",\"float\",\"Scalar\"]");
      run.copy_to_device(kSweeps * 440 * 5 * 4 / copies, HostMemory::kPinned);
    }
  };
  return run_loop(seed, loop);
}

/// One scene in three is a dense one.
Program dense_scenes(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(voxel_net({14}), terse_names());
  const auto count = std::make_shared<std::int64_t>(4);
  if (planted(0))
    loop.after_layer = [count](Simulation& run, int step, std::size_t layer) {
      if (layer != 9 || step % 3 != 0 || step == 0) return;
      give_back_and_retry(run, "aten::new_empty", 124 * kGb, 138 * kGb, 11);
      ++*count;
    };
  loop.after_step = [count](Simulation& run, int) { count_memory(run, 124 * kGb, 138 * kGb, 6 * kGb, *count); };
  return run_loop(seed, loop);
}

/// Images of another shape in every step.
Program images_of_any_shape(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(diffusion_transformer({10, 96}), spanish_names());
  const auto count = std::make_shared<std::int64_t>(1);
  if (planted(0))
    loop.after_layer_backward = [count](Simulation& run, int step, std::size_t layer) {
      if (layer != 2 || step < 2) return;
      give_back_and_retry(run, "aten::empty_like", 68 * kGb, 137 * kGb, 8);
      ++*count;
    };
  loop.after_step = [count, planted](Simulation& run, int) {
    count_memory(run, 68 * kGb, planted(0) ? 137 * kGb : 77 * kGb, planted(0) ? 66 * kGb : 3 * kGb, *count);
  };
  return run_loop(seed, loop);
}

/// Which voxels are neighbours, with a hash table for each call or one for all.
void find_neighbours(Simulation& run, bool own_table) {
  const auto op = run.op("spconv::get_indice_pairs", "[[400000,4]]", "[\"int\"]");
  const std::uint64_t table = own_table ? run.allocate(48u << 20, 270) : 0;
  run.launch(streaming_kernel("void spconv::build_conv_hash_table<tv::hash::LinearHashTable<int, int> >", 1.2e8));
  if (own_table) run.free(table, 310);
}

Program tables_of_neighbours(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(voxel_net({12}), lightning_names());
  loop.after_layer = [planted](Simulation& run, int, std::size_t layer) {
    if (layer % 3 == 2) find_neighbours(run, planted(0));
  };
  return run_loop(seed, loop);
}

/// A text of another length in every fourth step, for which kernels are tuned.
Program tunes_each_length(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(state_space({4}), trainer_names());
  loop.before_step = [planted](Simulation& run, int step) {
    if (step != 0 && (!planted(0) || step % 4 != 2)) return;
    const auto compile = run.range("_compile.compile_inner (dynamo_timed)");
    run.host(24'000);
    {
      const auto inductor = run.range("inductor_compile (dynamo_timed)");
      run.host(57'000);
    }
    const auto tune = run.range("CachingAutotuner.benchmark_all_configs (dynamo_timed)");
    for (int kernel = 0; kernel < 8; ++kernel) {
      run.call("cuModuleLoadData", 740);
      run.host(9'000);
    }
  };
  return run_loop(seed, loop);
}

/// Speech as it is spoken: pieces of another length in every fourth step, for each of which a graph is captured.
Program captures_each_length(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(conformer({6, 2048, 256, 512}), terse_names());
  loop.training = false;
  loop.steps = 42;
  loop.graph = true;
  loop.names.step = "transcribe_piece";
  loop.before_step = [planted, kernels = kernels_of_step(loop).size()](Simulation& run, int step) {
    if (step != 0 && (!planted(0) || step % 4 != 1)) return;
    const auto range = run.range("warm_up_length");
    run.call("cudaStreamBeginCapture", 12);
    for (std::size_t i = 0; i < kernels; ++i) {
      run.host(6);
      run.call("cudaLaunchKernel", 2.3);
    }
    run.call("cudaStreamEndCapture", 110);
    run.call("cudaGraphInstantiate", 2'200);
    run.call("cudaGraphDestroy", 75);
  };
  return run_loop(seed, loop);
}

/// A small scene, and a profiler that makes and flushes its buffers in the backward pass.
Program flushes_in_backward(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(voxel_net({14, 120'000}), spanish_names());
  if (planted(0))
    loop.after_layer_backward = [](Simulation& run, int, std::size_t layer) {
      run.overhead("Buffer Flush", 460);
      if (layer % 3 == 0) run.overhead("Resource", 260);
    };
  return run_loop(seed, loop);
}

/// A detector: how many boxes are left is read for two kinds of them, and an extension allocates its lists.
Program counts_boxes(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(cnn({16, 64, 45}), trainer_names());
  rename_layers(loop.model, "backbone.body.conv1", "backbone.body.layer", "rpn.head");
  loop.after_forward = [planted](Simulation& run, int) {
    for (int kind = 0; kind < 2; ++kind) {
      const auto proposals = run.range("filter_proposals");
      const auto op = run.op("torchvision::nms", "[[4000,4],[4000],[]]", "[\"float\",\"float\",\"Scalar\"]");
      run.launch(
          {"void vision::ops::(anonymous namespace)::nms_kernel_impl<float>(int, double, float const*, unsigned "
           "long long*)",
           22, 63 * 63, 64, 40, 0});
      if (planted(0)) {
        run.copy_to_host(8, HostMemory::kPinned);
        run.synchronize_stream();
      }
      run.host(870);
    }
  };
  loop.after_layer_backward = [planted](Simulation& run, int, std::size_t layer) {
    if (layer != 11 || !planted(1)) return;
    const auto op = run.op("my_ops::deform_backward", "[[64,256,28,28]]", "[\"c10::BFloat16\"]");
    const std::uint64_t list = run.allocate(220u << 20, 510);
    run.launch(streaming_kernel("void deform_col2im_kernel<c10::BFloat16>(int, c10::BFloat16 const*)", 9e7));
    run.free(list, 460);
  };
  return run_loop(seed, loop);
}

/// Volumes of a scanner, which are read late and are in pageable memory.
Program volumes(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(cnn({14, 8, 130}), spanish_names());
  rename_layers(loop.model, "entrada", "codificador.", "salida");
  loop.model.batch_bytes = std::uint64_t{8} * 160 * 160 * 96 * 4;
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (planted(1)) {
      const auto read = run.range("nibabel.get_fdata");
      run.host(15'500);
    }
    if (!planted(0)) return default_data(run, model);
    const auto copy = run.op("aten::copy_", "[[8,1,160,160,96],[8,1,160,160,96],[]]", types_of("float", 2, 1));
    run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
  };
  return run_loop(seed, loop);
}

/// Every sixth batch has a new shape, for which modules are loaded; and the norm of the gradients is read in every
/// step.
Program loads_modules_and_reads(std::uint64_t seed, Planted planted) {
  Loop loop = loop_of(conformer({4, 16384}), lightning_names());
  loop.before_step = [planted](Simulation& run, int step) {
    if (step > 0 && (!planted(0) || step % 6 != 3)) return;
    const auto range = run.range("select_kernels");
    for (int i = 0; i < 12; ++i) run.overhead("Runtime Triggered Module Loading", 7'300);
  };
  loop.after_backward = [planted](Simulation& run, int) {
    const auto clip = run.range("clip_gradients");
    if (planted(1)) run.item();
    run.host(1'450);
  };
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> fourth_host_cases() {
  using R = AdviceRule;
  return {
      {"a scheduler reads its time step from the device",
       {{R::kImplicitSynchronization}},
       alone(scheduler_on_device),
       {},
       true},
      {"a small policy is trained eagerly", {{R::kLaunchBound}}, alone(small_policy), {}, true},
      {"one batch in three waits for a shard", {{R::kDataWait}}, alone(late_shards), {}, true},
      {"features of proteins come from NumPy", {{R::kPageableCopy}}, alone(features_of_numpy), {}, true},
      {"sweeps of a lidar are copied one by one", {{R::kSmallCopies}}, alone(copies_each_sweep), {}},
      {"one scene in three is too large for the memory",
       {{R::kAllocatorRetries}},
       alone(dense_scenes),
       {{R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"images of any shape leave holes in the memory",
       {{R::kAllocatorFragmentation, R::kAllocatorRetries}},
       alone(images_of_any_shape),
       {{R::kAllocatorRetries, "fragmentation costs time by retries"},
        {R::kAllocatorFragmentation, "the same, where the retries are named as the cause"},
        {R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"a hash table is allocated for each list of neighbours",
       {{R::kDeviceAllocation}},
       alone(tables_of_neighbours),
       {},
       true},
      {"kernels are tuned for each length of texts", {{R::kCompilation}}, alone(tunes_each_length), {}},
      {"a graph is captured for each length of speech", {{R::kGraphCapture}}, alone(captures_each_length), {}},
      {"the profiler flushes in the backward pass", {{R::kProfilerOverhead}}, alone(flushes_in_backward), {}},
      {"a detector counts its boxes, and allocates lists",
       {{R::kImplicitSynchronization}, {R::kDeviceAllocation}},
       alone(counts_boxes),
       {}},
      {"volumes come late from pageable memory", {{R::kPageableCopy}, {R::kDataWait}}, alone(volumes), {}},
      {"modules are loaded for each shape, and norms are read",
       {{R::kCompilation}, {R::kImplicitSynchronization}},
       alone(loads_modules_and_reads),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
