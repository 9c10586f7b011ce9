// SPDX-License-Identifier: MIT
//
// Causes on the host's side, of the third part of the visible half.
#include "advice/corpus/allocator.hpp"
#include "advice/corpus/cases.hpp"
#include "advice/corpus/third_models.hpp"

#include <memory>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

LoopNames iteration_names() {
  LoopNames names;
  names.step = "iteration";
  names.data = "fetch";
  names.forward = "net";
  names.backward = "loss.backward";
  names.optimizer = "optim.step";
  return names;
}
LoopNames french_names() {
  LoopNames names;
  names.step = "etape";
  names.data = "charger_lot";
  names.forward = "propagation";
  names.backward = "retropropagation";
  names.optimizer = "mise_a_jour";
  return names;
}

/// Gradients of eight batches are summed up before a step of the optimizer; the loss of each is written to a log.
Program logs_each_micro_batch(std::uint64_t seed, Planted planted) {
  Loop loop{llama({4, 4096})};
  loop.names = short_names();
  Simulation run(seed);
  TwoStepsAhead ahead;
  for (int step = 0; step < 20; ++step) {
    run.begin_step();
    const auto whole = run.range(loop.names.step);
    ahead.wait(run);
    for (int micro = 0; micro < 8; ++micro) {
      in_range(run, loop.names.data, [&] { default_data(run, loop.model); });
      run_forward(run, loop, step);
      run_backward(run, loop, step);
      if (!planted(0)) continue;
      const auto log = run.range("log_loss");
      run.item();
      run.host(420);
    }
    run_optimizer(run, loop.model, loop.names.optimizer);
    ahead.mark(run);
  }
  return run.finish();
}

/// Molecules: graphs so small that a kernel is done before the next one is launched.
Program small_graphs(std::uint64_t seed, Planted planted) {
  Loop loop{graph_net({8, 10'000, 40'000, 128})};
  loop.steps = 40;
  loop.names = iteration_names();
  loop.names.graph = "replay";
  loop.graph = !planted(0);
  return run_loop(seed, loop);
}

Program french_loader(std::uint64_t seed, Planted planted) {
  Loop loop{patch_transformer({})};
  rename_layers(loop.model, "decoupage", "couche_", "tete");
  loop.names = french_names();
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (planted(0)) {
      const auto wait = run.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
      run.host(56'000);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

constexpr std::uint64_t kClips = 4;

/// Clips of 32 frames, as floats.
Program pageable_clips(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({18, 128, 110})};
  rename_layers(loop.model, "stem", "s3d.inception_", "s3d.last");
  loop.names = iteration_names();
  loop.model.batch_bytes = kClips * 3 * 32 * 224 * 224 * 4;
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (!planted(0)) return default_data(run, model);
    run.host(60);
    const auto copy = run.op("aten::_to_copy", "[[4,3,32,224,224]]", "[\"float\"]");
    run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
  };
  return run_loop(seed, loop);
}

constexpr std::uint64_t kMolecules = 600;

/// Coordinates of molecules, one after the other.
Program copies_each_molecule(std::uint64_t seed, Planted planted) {
  Loop loop{graph_net({6, 100'000, 1'000'000, 256})};
  without_module_ranges(loop.model);
  loop.names = no_names();
  loop.data = [planted](Simulation& run, int) {
    const std::uint64_t copies = planted(0) ? kMolecules : 1;
    for (std::uint64_t i = 0; i < copies; ++i) {
      const auto copy = run.op("aten::copy_", "[[167,3],[167,3],[]]", "[\"float\",\"float\",\"Scalar\"]");
      run.copy_to_device(kMolecules * 167 * 3 * 4 / copies, HostMemory::kPinned);
    }
  };
  return run_loop(seed, loop);
}

/// Every second batch is a large one.
Program large_every_second_time(std::uint64_t seed, Planted planted) {
  Loop loop{unet({})};
  loop.names = short_names();
  const auto count = std::make_shared<std::int64_t>(1);
  if (planted(0))
    loop.after_layer_backward = [count](Simulation& run, int step, std::size_t layer) {
      if (layer != 3 || step % 2 != 0 || step < 2) return;
      give_back_and_retry(run, "aten::empty_like", 127 * kGb, 137 * kGb, 9);
      ++*count;
    };
  loop.after_step = [count](Simulation& run, int) { count_memory(run, 127 * kGb, 137 * kGb, 5 * kGb, *count); };
  return run_loop(seed, loop);
}

/// Texts of any length: what is free lies between what is not.
Program texts_of_any_length(std::uint64_t seed, Planted planted) {
  Loop loop{llama({})};
  const auto count = std::make_shared<std::int64_t>(0);
  if (planted(0))
    loop.after_layer = [count](Simulation& run, int step, std::size_t layer) {
      if (layer != 6 || step < 2) return;
      give_back_and_retry(run, "aten::empty", 71 * kGb, 136 * kGb, 12);
      ++*count;
    };
  loop.after_step = [count, planted](Simulation& run, int) {
    count_memory(run, 71 * kGb, planted(0) ? 136 * kGb : 80 * kGb, planted(0) ? 61 * kGb : 4 * kGb, *count);
  };
  return run_loop(seed, loop);
}

/// A transform in an extension, with a workspace for each call or one for all.
void spectral_convolution(Simulation& run, bool own_workspace) {
  const auto op = run.op("spectral::fft_conv2d", "[[32,640,32,32]]", "[\"c10::BFloat16\"]");
  const std::uint64_t workspace = own_workspace ? run.allocate(160u << 20, 310) : 0;
  run.launch(streaming_kernel("void regular_fft<1024u, EPT<16u>, 64u, 4u, (padding_t)1, float>(kernel_arguments_t)",
                              2.5e8, 256));
  if (own_workspace) run.free(workspace, 330);
}

Program workspace_for_each_call(std::uint64_t seed, Planted planted) {
  Loop loop{unet({})};
  loop.names = iteration_names();
  loop.after_layer = [planted](Simulation& run, int, std::size_t layer) {
    if (layer > 0) spectral_convolution(run, planted(0));
  };
  return run_loop(seed, loop);
}

/// Images of another size in every fifth step.
Program compiles_each_size(std::uint64_t seed, Planted planted) {
  Loop loop{patch_transformer({})};
  rename_layers(loop.model, "patch_embed", "blocks.", "head");
  loop.names = short_names();
  loop.before_step = [planted](Simulation& run, int step) {
    if (step != 0 && (!planted(0) || step % 5 != 0)) return;
    const auto compile = run.range("_compile.compile_inner (dynamo_timed)");
    run.host(31'000);
    {
      const auto inductor = run.range("compile_fx.<locals>.fw_compiler_base (dynamo_timed)");
      run.host(64'000);
      const auto wait = run.range("async_compile.wait (dynamo_timed)");
      run.host(118'000);
    }
    for (int i = 0; i < 20; ++i) run.call("cuModuleLoadData", 620);
  };
  return run_loop(seed, loop);
}

Program new_graph_every_third_token(std::uint64_t seed, Planted planted) {
  Loop loop{decoder({20, 8, 2048})};
  loop.training = false;
  loop.steps = 45;
  loop.graph = true;
  loop.names.step = "generate_token";
  loop.names.data = "prepare_inputs";
  loop.names.graph = "replay";
  loop.before_step = [planted, kernels = kernels_of_step(loop).size()](Simulation& run, int step) {
    if (step != 0 && (!planted(0) || step % 3 != 0)) return;
    const auto range = run.range("CUDAGraphRunner.capture");
    run.call("cudaStreamBeginCapture", 13);
    for (std::size_t i = 0; i < kernels; ++i) {
      run.host(7);
      run.call("cudaLaunchKernel", 2.4);
    }
    run.call("cudaStreamEndCapture", 140);
    run.call("cudaGraphInstantiateWithFlags", 2'900);
  };
  return run_loop(seed, loop);
}

Program buffers_run_full(std::uint64_t seed, Planted planted) {
  Loop loop{graph_net({6, 60'000, 600'000, 256})};
  loop.names = iteration_names();
  if (planted(0))
    loop.after_layer = [](Simulation& run, int, std::size_t layer) {
      run.overhead("Activity Buffer Request", 150);
      run.overhead(layer % 2 == 0 ? "Buffer Flush" : "Instrumentation", 640);
    };
  return run_loop(seed, loop);
}

/// Metrics are read in every step; ids come from pageable memory.
Program reads_metrics_of_clicks(std::uint64_t seed, Planted planted) {
  Loop loop{click_through({})};
  loop.names = short_names();
  loop.model.batch_bytes = 11u << 20;
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (!planted(1)) return default_data(run, model);
    const auto copy = run.op("aten::copy_", "[[1441792],[1441792],[]]", "[\"long int\",\"long int\",\"Scalar\"]");
    run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
  };
  if (planted(0))
    loop.after_forward = [](Simulation& run, int) {
      const auto metrics = run.range("update_metrics");
      for (int metric = 0; metric < 4; ++metric) {
        const auto cpu = run.op("aten::to", "[[65536]]", "[\"float\"]");
        run.copy_to_host(256u << 10, HostMemory::kPinned);
        run.synchronize_stream();
        run.host(830);
      }
    };
  return run_loop(seed, loop);
}

/// Each token is compared with the one that ends a text.
Program eager_decoder_that_reads(std::uint64_t seed, Planted planted) {
  Loop loop{decoder({16, 2, 2048})};
  loop.training = false;
  loop.steps = 48;
  loop.graph = !planted(0);
  loop.names.step = "generate_token";
  loop.names.forward = "model";
  loop.names.graph = "model";
  if (planted(1))
    loop.after_step = [](Simulation& run, int) {
      const auto stop = run.range("check_stop");
      run.item();
      run.host(190);
    };
  return run_loop(seed, loop);
}

Program late_batches_and_workspaces(std::uint64_t seed, Planted planted) {
  Loop loop{unet({})};
  loop.names = short_names();
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (planted(0)) {
      const auto wait = run.range("dataloader.next");
      run.host(30'000);
    }
    default_data(run, model);
  };
  loop.after_layer = [planted](Simulation& run, int, std::size_t layer) {
    if (layer % 3 == 1) spectral_convolution(run, planted(1));
  };
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> third_host_cases() {
  using R = AdviceRule;
  return {
      {"the loss of each of 8 micro-batches is read",
       {{R::kImplicitSynchronization}},
       alone(logs_each_micro_batch),
       {},
       true},
      {"small graphs are trained eagerly", {{R::kLaunchBound}}, alone(small_graphs), {}, true},
      {"a vision transformer waits for its workers", {{R::kDataWait}}, alone(french_loader), {}, true},
      {"clips come from pageable memory", {{R::kPageableCopy}}, alone(pageable_clips), {}, true},
      {"molecules are copied one by one", {{R::kSmallCopies}}, alone(copies_each_molecule), {}},
      {"every second batch is too large for the memory",
       {{R::kAllocatorRetries}},
       alone(large_every_second_time),
       {{R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"texts of any length leave holes in the memory",
       {{R::kAllocatorFragmentation, R::kAllocatorRetries}},
       alone(texts_of_any_length),
       {{R::kAllocatorRetries, "fragmentation costs time by retries"},
        {R::kAllocatorFragmentation, "the same, where the retries are named as the cause"},
        {R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"a workspace is allocated for each transform",
       {{R::kDeviceAllocation}},
       alone(workspace_for_each_call),
       {},
       true},
      {"a vision transformer is compiled for each size of images",
       {{R::kCompilation}},
       alone(compiles_each_size),
       {},
       true},
      {"a graph is captured for every third token", {{R::kGraphCapture}}, alone(new_graph_every_third_token), {}},
      {"the profiler's buffers run full", {{R::kProfilerOverhead}}, alone(buffers_run_full), {}},
      {"metrics are read, and ids come from pageable memory",
       {{R::kImplicitSynchronization}, {R::kPageableCopy}},
       alone(reads_metrics_of_clicks),
       {}},
      {"an eager decoder that reads each token",
       {{R::kLaunchBound}, {R::kImplicitSynchronization}},
       alone(eager_decoder_that_reads),
       {}},
      {"batches come late, and workspaces are allocated",
       {{R::kDataWait}, {R::kDeviceAllocation}},
       alone(late_batches_and_workspaces),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
