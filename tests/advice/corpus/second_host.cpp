// SPDX-License-Identifier: MIT
//
// Causes on the host's side, of the second part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/training_loop.hpp"

#include <memory>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

constexpr std::int64_t kGigabyte = std::int64_t{1} << 30;

/// A mixture of experts: which tokens go where is computed on the device, and how many they are is read by the host.
Program routes_by_host(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({14, 8192, 4096})};
  loop.after_layer = [planted](Simulation& run, int, std::size_t layer) {
    if (layer % 2 != 1) return;
    const auto route = run.range("route_tokens");
    const auto op = run.op("aten::nonzero", "[[8192,16]]", "[\"bool\"]");
    run.launch(streaming_kernel("void at_cuda_detail::cub::DeviceSelectSweepKernel<bool>", 4e6, 128));
    if (!planted(0)) return;
    run.copy_to_host(8, HostMemory::kPinned);
    run.synchronize_stream();
    run.host(260);
  };
  return run_loop(seed, loop);
}

Program eager_decoder(std::uint64_t seed, Planted planted) {
  Loop loop{decoder({24, 4, 2048})};
  loop.training = false;
  loop.steps = 48;
  loop.graph = !planted(0);
  return run_loop(seed, loop);
}

/// The main thread makes tokens of the texts.
Program tokenizes_itself(std::uint64_t seed, Planted planted) {
  Loop loop{transformer({6, 2, 2048, 2048, 16, 50304})};
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    {
      const auto batch = run.range("load_batch");
      run.host(planted(0) ? 31'000 : 900);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

Program pageable_ids(std::uint64_t seed, Planted planted) {
  Loop loop{recommender({13, 16384, 128, 8, 2048})};
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (!planted(0)) return default_data(run, model);
    run.host(40);
    const auto copy = run.op("aten::copy_", "[[4259840],[4259840],[]]", "[\"long int\",\"long int\",\"Scalar\"]");
    run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
  };
  return run_loop(seed, loop);
}

/// The boxes of each image of a batch are copied alone.
Program copies_by_image(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({14, 96, 50})};
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    default_data(run, model);
    const int copies = planted(0) ? 384 : 1;
    for (int i = 0; i < copies; ++i) {
      const auto copy = run.op("aten::to", "[[24,5]]", "[\"float\"]");
      run.copy_to_device(480 * 384 / static_cast<std::uint64_t>(copies), HostMemory::kPinned);
    }
  };
  return run_loop(seed, loop);
}

void release_and_retry(Simulation& run, std::int64_t allocated, int segments) {
  const auto op = run.op("aten::empty_strided", "[[192,256,56,56],[802816,3136,56,1]]", "[\"c10::BFloat16\",\"\"]");
  run.call("cudaMalloc", 150, 2);  // cudaErrorMemoryAllocation
  run.synchronize_device();
  std::int64_t reserved = 139 * kGigabyte;
  for (int i = 0; i < segments; ++i) {
    const std::uint64_t address = 0x7fa000000000 + static_cast<std::uint64_t>(i) * 0x40000000;
    run.free(address, 260);
    reserved -= kGigabyte;
    run.memory(MemoryAction::kSegmentFree, address, kGigabyte, allocated, reserved);
  }
  for (int i = 0; i < segments; ++i) {
    const std::uint64_t address = run.allocate(kGigabyte, 410);
    reserved += kGigabyte;
    run.memory(MemoryAction::kSegmentAllocate, address, kGigabyte, allocated, reserved);
  }
}

Program batch_too_large(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({20, 192, 150})};
  const auto count = std::make_shared<std::int64_t>(0);
  if (planted(0))
    loop.after_layer = [count](Simulation& run, int step, std::size_t layer) {
      if (layer != 12 || step < 2) return;
      release_and_retry(run, 131 * kGigabyte, 6);
      ++*count;
    };
  loop.after_step = [count](Simulation& run, int) {
    run.counter("cuda:0 allocated bytes", 131 * kGigabyte);
    run.counter("cuda:0 reserved bytes", 139 * kGigabyte);
    run.counter("cuda:0 inactive split bytes", 4 * kGigabyte);
    run.counter("cuda:0 allocation retries", *count);
  };
  return run_loop(seed, loop);
}

Program memory_in_pieces(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({16, 8192, 4096})};
  const auto count = std::make_shared<std::int64_t>(1);
  if (planted(0))
    loop.after_layer_backward = [count](Simulation& run, int step, std::size_t layer) {
      if (layer != 8 || step < 1) return;
      release_and_retry(run, 66 * kGigabyte, 5);
      ++*count;
    };
  loop.after_step = [count, planted](Simulation& run, int) {
    run.counter("cuda:0 allocated bytes", 66 * kGigabyte);
    run.counter("cuda:0 reserved bytes", planted(0) ? 139 * kGigabyte : 72 * kGigabyte);
    run.counter("cuda:0 inactive split bytes", planted(0) ? 69 * kGigabyte : 2 * kGigabyte);
    run.counter("cuda:0 allocation retries", *count);
  };
  return run_loop(seed, loop);
}

/// A cache that grows: another buffer for every token.
Program cache_grows(std::uint64_t seed, Planted planted) {
  Loop loop{decoder({24, 32, 8192})};
  loop.training = false;
  loop.steps = 40;
  if (planted(0))
    loop.after_step = [](Simulation& run, int) {
      const auto range = run.range("grow_cache");
      for (int i = 0; i < 2; ++i) {
        const std::uint64_t buffer = run.allocate(512u << 20, 420);
        run.free(buffer, 380);
      }
    };
  return run_loop(seed, loop);
}

/// Kernels come as PTX, which the driver compiles for every second shape.
Program compiles_ptx(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({16, 8192, 4096})};
  loop.before_step = [planted](Simulation& run, int step) {
    if (step > 1 && (!planted(0) || step % 2 != 0)) return;
    const auto range = run.range("build_kernels");
    for (int i = 0; i < 6; ++i) {
      run.call("cuModuleLoadDataEx", 800);
      run.overhead("Driver Compiler", 14'000);
    }
  };
  return run_loop(seed, loop);
}

/// The decoder's batch changes in every second step, and with it the graph.
Program captures_batches(std::uint64_t seed, Planted planted) {
  Loop loop{decoder({24, 4, 2048})};
  loop.training = false;
  loop.steps = 40;
  loop.graph = true;
  loop.before_step = [planted, kernels = kernels_of_step(loop).size()](Simulation& run, int step) {
    if (step > 1 && (!planted(0) || step % 2 != 0)) return;
    const auto range = run.range("make_graph");
    run.call("cudaStreamBeginCapture", 11);
    for (std::size_t i = 0; i < kernels; ++i) {
      run.host(8);
      run.call("cudaLaunchKernel", 2);
    }
    run.call("cudaStreamEndCapture", 120);
    run.call("cudaGraphInstantiate", 2'600);
    run.call("cudaGraphExecDestroy", 350);
  };
  return run_loop(seed, loop);
}

Program instrumented(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({12, 64, 40})};
  if (planted(0))
    loop.after_layer = [](Simulation& run, int, std::size_t) {
      run.overhead("Instrumentation", 260);
      run.overhead("Buffer Flush", 230);
    };
  return run_loop(seed, loop);
}

Program pageable_and_reads(std::uint64_t seed, Planted planted) {
  Loop loop{cnn({20, 192, 150})};
  loop.model.batch_bytes = 96 * 3 * 224 * 224 * 4;
  loop.data = [planted, model = loop.model](Simulation& run, int) {
    if (!planted(0)) return default_data(run, model);
    const auto copy = run.op("aten::copy_", "[[96,3,224,224],[96,3,224,224],[]]", "[\"float\",\"float\",\"Scalar\"]");
    run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
  };
  if (planted(1))
    loop.after_forward = [](Simulation& run, int) {
      for (int metric = 0; metric < 3; ++metric) {
        const auto range = run.range("update_metric");
        run.item();
        run.host(700);
      }
    };
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> second_host_cases() {
  using R = AdviceRule;
  return {
      {"experts get tokens that the host counts", {{R::kImplicitSynchronization}}, alone(routes_by_host), {}, true},
      {"a decoder of small kernels", {{R::kLaunchBound}}, alone(eager_decoder), {}, true},
      {"texts become tokens on the main thread", {{R::kDataWait}}, alone(tokenizes_itself), {}, true},
      {"a recommender copies ids from pageable memory", {{R::kPageableCopy}}, alone(pageable_ids), {}, true},
      {"boxes are copied image by image", {{R::kSmallCopies}}, alone(copies_by_image), {}},
      {"a batch too large for the memory",
       {{R::kAllocatorRetries}},
       alone(batch_too_large),
       {{R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"half of the memory is in pieces",
       {{R::kAllocatorFragmentation, R::kAllocatorRetries}},
       alone(memory_in_pieces),
       {{R::kAllocatorRetries, "fragmentation costs time by retries"},
        {R::kAllocatorFragmentation, "the same, where the retries are named as the cause"},
        {R::kDeviceAllocation, "a retry frees and allocates with CUDA's own calls"}}},
      {"a cache that grows with every token", {{R::kDeviceAllocation}}, alone(cache_grows), {}, true},
      {"the driver compiles PTX in every second step", {{R::kCompilation}}, alone(compiles_ptx), {}},
      {"a graph for every second batch", {{R::kGraphCapture}}, alone(captures_batches), {}},
      {"a profiler that instruments", {{R::kProfilerOverhead}}, alone(instrumented), {}},
      {"images from pageable memory, and metrics that are read",
       {{R::kPageableCopy}, {R::kImplicitSynchronization}},
       alone(pageable_and_reads),
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
