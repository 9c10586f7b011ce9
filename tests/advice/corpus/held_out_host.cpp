// SPDX-License-Identifier: MIT
//
// Causes on the host's side, of the half that rules are not made with.
#include "advice/corpus/allocator.hpp"
#include "advice/corpus/cases.hpp"
#include "advice/corpus/held_out_models.hpp"
#include "advice/corpus/held_out_names.hpp"
#include "advice/corpus/third_models.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

/// How many instances there are to sort is read with cudaMemcpy into a variable of the host, which then resizes the
/// buffers for them.
Program counts_rendered_gaussians(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(gaussian_splats({}), scene_names());
  loop.after_layer = [planted](Simulation& run, int, std::size_t layer) {
    if (layer != kPreprocess) return;
    if (planted(0)) run.copy_to_host(4, HostMemory::kPageable);
    const auto resize = run.range("resizeFunctional");
    run.host(1'250);
  };
  return run_loop(seed, loop);
}

/// A generator and a discriminator, each with a gradient scaler of its own that asks whether a gradient is infinite.
Program two_scalers(std::uint64_t seed, Planted planted) {
  Loop generator = named_loop(unet({6, 24, 512}), {"", "", "G.forward", "G.backward", "G.step", ""});
  Loop discriminator = named_loop(bottleneck_net({48, 64, {2, 2, 2}}), {"", "", "D.forward", "D.backward", "", ""});
  Simulation run(seed);
  TwoStepsAhead ahead;
  for (int step = 0; step < 26; ++step) {
    run.begin_step();
    const auto whole = run.range("train_batch");
    ahead.wait(run);
    in_range(run, "batch.to(device)", [&] { default_data(run, generator.model); });
    for (const Loop* network : {&discriminator, &generator}) {
      run_forward(run, *network, step);
      run_backward(run, *network, step);
      const auto scaler = run.range("GradScaler.step");
      run_op(run, elementwise_op("aten::_amp_foreach_non_finite_check_and_unscale_", "amp_unscale_kernel", {20'000'000},
                                 Math::kFp32));
      if (planted(0)) run.item();
      run.host(940);
      run_optimizer(run, network->model, "Optimizer.step#Adam.step");
    }
    ahead.mark(run);
  }
  return run.finish();
}

/// Molecular dynamics: forces by kernels that are shorter than their launches.
Program forces_of_small_molecules(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(interatomic_potential({3, 4'500}),
                         {"MDStep", "neighbor_list", "energy", "forces", "integrator", "energy_and_forces"});
  loop.steps = 44;
  loop.graph = !planted(0);
  return run_loop(seed, loop);
}

/// Eight workers that began together: seven batches are there, and for the eighth all wait.
Program eighth_batch_is_late(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(bottleneck_net({}), reference_names());
  loop.steps = 40;
  loop.data = [planted, model = loop.model](Simulation& run, int step) {
    if (planted(0) && step % 8 == 5) {
      const auto next = run.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
      run.host(170'000);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

/// Waveforms of 24 utterances as floats.
Program pageable_waveforms(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(transformer({7, 24, 750, 768, 12, 512}), fairseq_names());
  rename_layers(loop.model, "feature_extractor", "encoder.layers.", "final_proj");
  loop.model.batch_bytes = std::uint64_t{24} * 240'000 * 4;
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (!planted(0)) return default_data(run, model);
    run.host(70);
    const auto move = run.range("move_to_cuda");
    const auto copy = run.op("aten::_to_copy", "[[24,240000]]", "[\"float\"]");
    run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
  };
  return run_loop(seed, loop);
}

constexpr std::uint64_t kSwapped = 420;

/// A server brings the cache of a few texts back from the host: block by block, or all that there are in one.
Program swaps_blocks_in(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(decoder({14, 48, 3072}),
                         {"EngineCore.step", "execute_model.prepare_inputs", "", "", "", "execute_model.forward"});
  loop.training = false;
  loop.graph = true;
  loop.steps = 36;
  loop.before_step = [planted](Simulation& run, int) {
    const auto swap = run.range("swap_blocks");
    const std::uint64_t blocks = planted(0) ? kSwapped : 1;
    for (std::uint64_t block = 0; block < blocks; ++block)
      run.copy_to_device(kSwapped * 32'768 / blocks, HostMemory::kPinned);
  };
  return run_loop(seed, loop);
}

/// Every fourth batch has images with many proposals.
Program many_proposals(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(bottleneck_net({64, 100, {3, 4, 6, 3}}), detectron_names());
  loop.steps = 28;
  const auto count = std::make_shared<std::int64_t>(6);
  if (planted(0))
    loop.after_layer_backward = [count](Simulation& run, int step, std::size_t layer) {
      if (layer != 11 || step % 4 != 3) return;
      give_back_and_retry(run, "aten::empty_strided", 119 * kGb, 136 * kGb, 24);
      ++*count;
    };
  loop.after_step = [count](Simulation& run, int) { count_memory(run, 119 * kGb, 136 * kGb, 7 * kGb, *count); };
  return run_loop(seed, loop);
}

/// Pairs of texts, of other lengths in every second step.
Program pairs_of_any_length(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(encoder_decoder({}), fairseq_names());
  const auto count = std::make_shared<std::int64_t>(3);
  if (planted(0))
    loop.after_layer = [count](Simulation& run, int step, std::size_t layer) {
      if (layer != 5 || step % 2 != 1) return;
      give_back_and_retry(run, "aten::empty", 58 * kGb, 135 * kGb, 16);
      ++*count;
    };
  loop.after_step = [count, planted](Simulation& run, int) {
    count_memory(run, 58 * kGb, planted(0) ? 135 * kGb : 66 * kGb, planted(0) ? 72 * kGb : 2 * kGb, *count);
  };
  return run_loop(seed, loop);
}

/// Thrust sorts rays with a temporary buffer that it asks CUDA for, or that PyTorch's allocator has.
Program thrust_sorts_rays(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(radiance_field({}), scene_names());
  loop.after_layer = [planted](Simulation& run, int, std::size_t layer) {
    if (layer % 2 != 1) return;
    const auto op = run.op("nerfacc::importance_sampling", "[[4000000]]", "[\"float\"]");
    const std::uint64_t buffer = planted(0) ? run.allocate(40u << 20, 230) : 0;
    run.launch(
        streaming_kernel("void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<float, int> >", 9e7, 256));
    if (planted(0)) run.free(buffer, 280);
  };
  return run_loop(seed, loop);
}

/// Triton's just-in-time compiler, for each size that is divisible by 16 or not.
Program triton_specializes(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(mixture_of_experts({5, 12288}), megatron_names());
  loop.steps = 30;
  loop.before_step = [planted](Simulation& run, int step) {
    if (step != 0 && (!planted(0) || step % 5 != 3)) return;
    for (int kernel = 0; kernel < 3; ++kernel) {
      const auto compile = run.range("triton.compile");
      {
        const auto passes = run.range("make_ttgir");
        run.host(21'000);
      }
      const auto assembler = run.range("make_cubin");
      run.host(29'000);
      run.call("cuModuleLoadData", 530);
    }
  };
  return run_loop(seed, loop);
}

/// The nodes of a graph have changed, so that it is captured anew in every step.
Program captures_each_token(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(decoder({22, 6, 2560}), {"llama_decode", "ggml_backend_tensor_set_async", "", "", "",
                                                  "ggml_backend_cuda_graph_compute"});
  loop.training = false;
  loop.graph = true;
  loop.steps = 46;
  loop.before_step = [planted, kernels = kernels_of_step(loop).size()](Simulation& run, int step) {
    if (step > 1 && !planted(0)) return;
    const auto capture = run.range("evaluate_and_capture_cuda_graph");
    run.call("cudaStreamBeginCapture", 9);
    for (std::size_t i = 0; i < kernels; ++i) {
      run.host(2.4);
      run.call("cudaLaunchKernel", 1.6);
    }
    run.call("cudaStreamEndCapture", 70);
    run.call("cudaGraphExecUpdate", 260);
    run.call("cudaGraphInstantiate", 1'150);
  };
  return run_loop(seed, loop);
}

/// A profiler that takes stacks: its buffers are asked for while the host launches, and flushed after the step.
Program profiles_a_scene(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(radiance_field({3, 2.5e6}), scene_names());
  if (planted(0)) {
    loop.after_layer = [](Simulation& run, int, std::size_t) { run.overhead("Activity Buffer Request", 210); };
    loop.after_step = [](Simulation& run, int) { run.overhead("Buffer Flush", 6'400); };
  }
  return run_loop(seed, loop);
}

/// DETR: costs of all pairs go to the host, which matches boxes; and images come late.
Program matches_on_host(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(transformer({9, 16, 950, 1024, 16, 1024}), reference_names());
  rename_layers(loop.model, "backbone.0.body", "transformer.encoder.layers.", "class_embed");
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (planted(1)) {
      const auto decode = run.range("PIL.Image.convert");
      run.host(17'500);
    }
    default_data(run, model);
  };
  loop.after_forward = [planted](Simulation& run, int) {
    const auto criterion = run.range("SetCriterion.forward");
    if (planted(0)) {
      const auto matcher = run.range("HungarianMatcher.forward");
      const auto cpu = run.op("aten::_to_copy", "[[16,100,240]]", "[\"float\"]");
      run.copy_to_host(std::uint64_t{16} * 100 * 240 * 4, HostMemory::kPinned);
      run.synchronize_stream();
    }
    run.host(4'600);
  };
  return run_loop(seed, loop);
}

/// A list of edges is allocated by an extension in each interaction, and positions come from pageable memory.
Program edges_and_pageable_positions(std::uint64_t seed, Planted planted) {
  Loop loop = named_loop(graph_net({7, 150'000, 1'500'000, 256}), deepspeed_names());
  loop.model.batch_bytes = 13u << 20;
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (!planted(1)) return default_data(run, model);
    const auto copy = run.op("aten::_to_copy", "[[1135957,3]]", "[\"float\"]");
    run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
  };
  loop.after_layer = [planted](Simulation& run, int, std::size_t layer) {
    if (layer % 2 == 0) return;
    const auto op = run.op("torch_cluster::radius", "[[150000,3]]", "[\"float\"]");
    const std::uint64_t edges = planted(0) ? run.allocate(310u << 20, 620) : 0;
    run.launch(streaming_kernel("void radius_kernel<float>(float const*, float const*, long*, long*)", 7e7, 256));
    if (planted(0)) run.free(edges, 590);
  };
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> held_out_host_cases() {
  using R = AdviceRule;
  return {
      {"how many Gaussians are rendered is read",
       {{R::kImplicitSynchronization}},
       alone(counts_rendered_gaussians),
       {},
       true},
      {"two gradient scalers ask for infinite gradients", {{R::kImplicitSynchronization}}, alone(two_scalers), {}},
      {"forces of small molecules are computed eagerly",
       {{R::kLaunchBound}},
       alone(forces_of_small_molecules),
       {},
       true},
      {"every eighth batch comes late", {{R::kDataWait}}, alone(eighth_batch_is_late), {}, true},
      {"waveforms come from pageable memory", {{R::kPageableCopy}}, alone(pageable_waveforms), {}, true},
      {"blocks of a cache are swapped in one by one", {{R::kSmallCopies}}, alone(swaps_blocks_in), {}},
      {"one batch in four has many proposals",
       {{R::kAllocatorRetries}},
       alone(many_proposals),
       {{R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"pairs of texts leave holes in the memory",
       {{R::kAllocatorFragmentation, R::kAllocatorRetries}},
       alone(pairs_of_any_length),
       {{R::kAllocatorRetries, "fragmentation costs time by retries"},
        {R::kAllocatorFragmentation, "the same, where the retries are named as the cause"},
        {R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"Thrust allocates to sort rays", {{R::kDeviceAllocation}}, alone(thrust_sorts_rays), {}, true},
      {"Triton compiles for other sizes", {{R::kCompilation}}, alone(triton_specializes), {}},
      {"a graph is captured for each token of a text", {{R::kGraphCapture}}, alone(captures_each_token), {}},
      {"the profiler of a scene flushes in every step", {{R::kProfilerOverhead}}, alone(profiles_a_scene), {}},
      {"boxes are matched on the host, and images come late",
       {{R::kImplicitSynchronization}, {R::kDataWait}},
       alone(matches_on_host),
       {}},
      {"edges are allocated, and positions come from pageable memory",
       {{R::kDeviceAllocation}, {R::kPageableCopy}},
       alone(edges_and_pageable_positions),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
