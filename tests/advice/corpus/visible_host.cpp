// SPDX-License-Identifier: MIT
//
// Causes on the host's side: it waits, launches too slowly, allocates, compiles.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/training_loop.hpp"

#include <memory>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

constexpr std::int32_t kOutOfMemory = 2;  // cudaErrorMemoryAllocation
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Program reads_every_layer(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({8, 2, 2048, 2048, 16, 50304})};
  if (planted(0))
    loop.after_layer = [](Simulation& run, int, std::size_t) {
      const auto range = run.range("check_finite");
      run.item();
      run.host(130);
    };
  return run_loop(seed, loop);
}

Program many_small_kernels(std::uint64_t seed, Planted planted) {
  Loop loop{lstm({2, 48, 512, 768})};
  loop.graph = !planted(0);
  return run_loop(seed, loop);
}

/// The loss is read in every step, and the host does something with it that takes longer than the wait.
Program reads_between_small_kernels(std::uint64_t seed, Planted planted) {
  Loop loop{lstm({2, 24, 256, 512})};
  loop.steps = 40;
  loop.graph = !planted(0);
  if (planted(1))
    loop.after_step = [](Simulation& run, int) {
      const auto stop = run.range("early_stopping");
      run.item();
      run.host(400);
    };
  return run_loop(seed, loop);
}

Program slow_workers(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({})};
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (planted(0)) {
      const auto wait = run.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
      run.host(38'000);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

Program pageable_images(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({})};
  loop.model.batch_bytes = 256 * 3 * 224 * 224 * 4;
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (!planted(0)) return default_data(run, model);
    run.host(45);
    const auto to = run.op("aten::to");
    const auto copy = run.op("aten::copy_", shapes_of({{256, 3, 224, 224}, {256, 3, 224, 224}, {}}),
                             "[\"float\",\"float\",\"Scalar\"]");
    run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
  };
  return run_loop(seed, loop);
}

Program copies_by_feature(std::uint64_t seed, Planted planted) {
  Loop loop{recommender({})};
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    run.host(60);
    if (!planted(0)) {
      const auto copy = run.op("aten::copy_", "[[3276800],[3276800],[]]", "[\"float\",\"float\",\"Scalar\"]");
      return run.copy_to_device(420 * 8192, HostMemory::kPinned);
    }
    for (int feature = 0; feature < 420; ++feature) {
      const auto copy = run.op("aten::copy_", "[[2048],[2048],[]]", "[\"float\",\"float\",\"Scalar\"]");
      run.copy_to_device(8192, HostMemory::kPinned);
    }
  };
  return run_loop(seed, loop);
}

/// The allocator asks for a segment, is refused, gives back what it has cached, and asks again.
void retry(Simulation& run, std::int64_t& retries, int segments, std::int64_t allocated) {
  const auto op = run.op("aten::empty", "[[268435456]]", "[\"c10::BFloat16\"]");
  run.call("cudaMalloc", 180, kOutOfMemory);
  run.synchronize_device();
  for (int i = 0; i < segments; ++i) {
    const std::uint64_t address = 0x7f9000000000 + static_cast<std::uint64_t>(i) * 0x20000000;
    run.free(address, 210);
    run.memory(MemoryAction::kSegmentFree, address, 512u << 20, allocated, 138 * kGiB - (i + 1) * kGiB / 2);
  }
  for (int i = 0; i < segments; ++i) {
    const std::uint64_t address = run.allocate(512u << 20, 330);
    run.memory(MemoryAction::kSegmentAllocate, address, 512u << 20, allocated,
               138 * kGiB - (segments - i - 1) * kGiB / 2);
  }
  ++retries;
}

Program retries(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({8, 4, 2048, 2048, 16, 50304})};
  const auto count = std::make_shared<std::int64_t>(2);
  if (planted(0))
    loop.after_layer_backward = [count](Simulation& run, int step, std::size_t layer) {
      if (layer == 5 && step > 0) retry(run, *count, 10, 118 * kGiB);
    };
  loop.after_step = [count](Simulation& run, int) {
    run.counter("cuda:0 allocated bytes", 118 * kGiB);
    run.counter("cuda:0 reserved bytes", 138 * kGiB);
    run.counter("cuda:0 inactive split bytes", 3 * kGiB);
    run.counter("cuda:0 allocation retries", *count);
  };
  return run_loop(seed, loop);
}

/// One batch in three is longer than the others.
Program retries_now_and_then(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({6, 4, 1024, 2048, 16, 50304})};
  const auto count = std::make_shared<std::int64_t>(2);
  if (planted(0))
    loop.after_layer_backward = [count](Simulation& run, int step, std::size_t layer) {
      if (layer == 2 && step % 3 == 2) retry(run, *count, 14, 118 * kGiB);
    };
  loop.after_step = [count](Simulation& run, int) {
    run.counter("cuda:0 allocated bytes", 118 * kGiB);
    run.counter("cuda:0 reserved bytes", 138 * kGiB);
    run.counter("cuda:0 inactive split bytes", 3 * kGiB);
    run.counter("cuda:0 allocation retries", *count);
  };
  return run_loop(seed, loop);
}

/// Sequences of another length every step: no block that is free is long enough for what is asked for.
Program fragmented(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({6, 6, 2048, 2048, 16, 50304})};
  const auto count = std::make_shared<std::int64_t>(0);
  if (planted(0))
    loop.after_layer = [count](Simulation& run, int step, std::size_t layer) {
      if ((layer == 3 || layer == 6) && step > 0) retry(run, *count, 7, 74 * kGiB);
    };
  loop.after_step = [count, planted](Simulation& run, int) {
    run.counter("cuda:0 allocated bytes", 74 * kGiB);
    run.counter("cuda:0 reserved bytes", planted(0) ? 137 * kGiB : 84 * kGiB);
    run.counter("cuda:0 inactive split bytes", planted(0) ? 58 * kGiB : 3 * kGiB);
    run.counter("cuda:0 allocation retries", *count);
  };
  return run_loop(seed, loop);
}

Program temporary_buffers(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({12, 8192, 4096})};
  if (planted(0))
    loop.after_layer = [](Simulation& run, int, std::size_t layer) {
      if (layer % 4 != 1) return;
      const auto op = run.op("my_extension::sort_rows", "[[8192,4096]]", "[\"c10::BFloat16\"]");
      const std::uint64_t buffer = run.allocate(96u << 20, 290);
      run.launch(
          streaming_kernel("void cub::CUB_200700_900_NS::DeviceRadixSortOnesweepKernel<unsigned int>", 2e8, 384));
      run.free(buffer, 340);
    };
  else
    loop.after_layer = [](Simulation& run, int, std::size_t layer) {
      if (layer % 4 != 1) return;
      const auto op = run.op("my_extension::sort_rows", "[[8192,4096]]", "[\"c10::BFloat16\"]");
      run.launch(
          streaming_kernel("void cub::CUB_200700_900_NS::DeviceRadixSortOnesweepKernel<unsigned int>", 2e8, 384));
    };
  return run_loop(seed, loop);
}

/// Another shape in every third step, for which the model is compiled again.
Program recompiles(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({6, 4, 2048, 2048, 16, 50304})};
  loop.before_step = [planted](Simulation& run, int step) {
    if (step != 0 && (!planted(0) || step % 3 != 0)) return;
    const auto compile = run.range("entire_frame_compile (dynamo_timed)");
    run.host(9'000);
    {
      const auto inductor = run.range("inductor_compile (dynamo_timed)");
      run.host(140'000);
    }
    for (int i = 0; i < 12; ++i) run.call("cuModuleLoadData", 900);
  };
  return run_loop(seed, loop);
}

/// A graph is captured and instantiated anew in every step, instead of once.
Program captures_every_step(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({8, 1, 1024, 1024, 16, 50304})};
  loop.graph = true;
  loop.before_step = [planted, kernels = kernels_of_step(loop).size()](Simulation& run, int step) {
    if (step != 0 && !planted(0)) return;
    const auto range = run.range("capture");
    run.call("cudaStreamBeginCapture", 14);
    for (std::size_t i = 0; i < kernels; ++i) {
      run.host(9);
      run.call("cudaLaunchKernel", 2.2);
    }
    run.call("cudaStreamEndCapture", 160);
    run.call("cudaGraphInstantiate", 3'800);
    run.call("cudaGraphExecDestroy", 420);
    run.call("cudaGraphDestroy", 60);
  };
  return run_loop(seed, loop);
}

/// The buffers of the profiler are too small: it stops the host in every layer.
Program profiled(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({8, 2048, 4096})};
  if (planted(0))
    loop.after_layer = [](Simulation& run, int, std::size_t) {
      run.overhead("Buffer Flush", 520);
      run.overhead("Activity Buffer Request", 90);
    };
  return run_loop(seed, loop);
}

Program waits_and_reads(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({20, 192, 150})};
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (planted(0)) {
      const auto wait = run.range("next_batch");
      run.host(21'000);
    }
    default_data(run, model);
  };
  if (planted(1))
    loop.after_layer = [](Simulation& run, int, std::size_t layer) {
      if (layer % 5 != 0) return;
      const auto range = run.range("log_activations");
      run.item();
      run.host(550);
    };
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> visible_host_cases() {
  using R = AdviceRule;
  return {
      {"a transformer reads a value after every layer",
       {{R::kImplicitSynchronization}},
       alone(reads_every_layer),
       {},
       true},
      {"an LSTM of single time steps", {{R::kLaunchBound}}, alone(many_small_kernels), {}, true},
      {"a small LSTM whose loss is read",
       {{R::kLaunchBound}, {R::kImplicitSynchronization}},
       alone(reads_between_small_kernels),
       {}},
      {"a CNN waits for its workers", {{R::kDataWait}}, alone(slow_workers), {}, true},
      {"a CNN copies images from pageable memory", {{R::kPageableCopy}}, alone(pageable_images), {}, true},
      {"a recommender copies each feature alone", {{R::kSmallCopies}}, alone(copies_by_feature), {}},
      {"the allocator gives back its segments in every step",
       {{R::kAllocatorRetries}},
       alone(retries),
       {{R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"one batch in three is too large for the memory",
       {{R::kAllocatorRetries}},
       alone(retries_now_and_then),
       {{R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"memory is in blocks that are too short",
       {{R::kAllocatorFragmentation, R::kAllocatorRetries}},
       alone(fragmented),
       {{R::kAllocatorRetries, "fragmentation costs time by retries"},
        {R::kAllocatorFragmentation, "the same, where the retries are named as the cause"},
        {R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"an extension allocates its buffers in every step",
       {{R::kDeviceAllocation}},
       alone(temporary_buffers),
       {},
       true},
      {"a transformer is compiled again for every third batch", {{R::kCompilation}}, alone(recompiles), {}},
      {"a graph is captured in every step", {{R::kGraphCapture}}, alone(captures_every_step), {}},
      {"the profiler stops the host in every step", {{R::kProfilerOverhead}}, alone(profiled), {}},
      {"a CNN waits for data, and reads values",
       {{R::kDataWait}, {R::kImplicitSynchronization}},
       alone(waits_and_reads),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
