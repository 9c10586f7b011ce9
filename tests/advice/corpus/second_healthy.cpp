// SPDX-License-Identifier: MIT
//
// Programs with nothing worth changing, of the second part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/host_training.hpp"
#include "advice/corpus/training_job.hpp"

#include <string>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

constexpr std::int64_t kGiga = std::int64_t{1} << 30;

Program plain_cnn(std::uint64_t seed, Planted) { return run_loop(seed, Loop{cnn({22, 256, 170})}); }

std::vector<Program> gathered_ahead(std::uint64_t seed, Planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{transformer({8, 8, 2048, 2048, 16, 50304})};
    loop.steps = 16;
    shard_parameters(loop, meeting, true);
    return run_loop(seed * 1000 + 500 + static_cast<std::uint64_t>(rank), loop);
  });
}

/// Losses are read in a validation after the last step.
Program validates_at_end(std::uint64_t seed, Planted) {
  const Loop loop{mlp({14, 8192, 4096})};
  Simulation run(seed);
  run_loop(run, loop);
  run.end_step();
  {
    const auto range = run.range("validate");
    for (int batch = 0; batch < 4; ++batch) {
      run_forward(run, loop, loop.steps);
      run.item();
      run.host(200);
    }
  }
  return run.finish();
}

/// A graph is captured in the second step, and replayed in all others.
Program graph_after_warm_up(std::uint64_t seed, Planted) {
  Loop loop{transformer({8, 2, 1024, 2048, 16, 50304})};
  loop.graph = true;
  loop.before_step = [kernels = kernels_of_step(loop).size()](Simulation& run, int step) {
    if (step == 0)
      for (int i = 0; i < 16; ++i) run.allocate(1u << 30, 520);
    if (step != 1) return;
    const auto range = run.range("capture");
    run.call("cudaStreamBeginCapture", 12);
    for (std::size_t i = 0; i < kernels; ++i) {
      run.host(8);
      run.call("cudaLaunchKernel", 2.1);
    }
    run.call("cudaStreamEndCapture", 150);
    run.call("cudaGraphInstantiate", 4'400);
  };
  return run_loop(seed, loop);
}

/// 130 MB a step, from pinned memory and behind the computation.
Program large_pinned_batches(std::uint64_t seed, Planted) { return run_loop(seed, Loop{recommender({})}); }

/// One row a step: products that the memory's bandwidth limits, by kernels without tensor cores.
Program matrix_times_vector(std::uint64_t seed, Planted) {
  Loop loop{decoder({24, 1, 8192})};
  loop.training = false;
  loop.steps = 40;
  for (Layer& layer : loop.model.layers) {
    // Norms are a part of the products that follow.
    std::erase_if(layer.forward, [](const Op& op) { return op.name == "aten::layer_norm"; });
    for (Op& op : layer.forward)
      if (op.name == "aten::linear") {
        Kernel& kernel = op.kernels.front();
        kernel.name =
            "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, "
            "false, false, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<__nv_bfloat16 const>, float> >";
        kernel.grid = 16 * kMultiprocessors;
        kernel.block = 128;
        kernel.registers = 64;
        kernel.shared_bytes = 0;
      }
  }
  loop.graph = true;
  return run_loop(seed, loop);
}

/// Two elementwise kernels one after the other, where it does not matter.
Program short_chain(std::uint64_t seed, Planted) {
  Loop loop{transformer({8, 4, 2048, 2048, 16, 50304})};
  Layer& layer = loop.model.layers[4];
  layer.forward.push_back(
      elementwise_op("aten::mul", "BinaryFunctor<c10::BFloat16, MulFunctor<float> >", {8192, 2048}, Math::kBf16, 2));
  return run_loop(seed, loop);
}

/// The workers are 0.3 % of a step late.
Program nearly_on_time(std::uint64_t seed, Planted) {
  Loop loop{cnn({})};
  loop.data = [model = loop.model](Simulation& run, int) {
    {
      const auto wait = run.range("next_batch");
      run.host(110);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

/// A checkpoint is written twice, while the device goes on.
Program two_checkpoints(std::uint64_t seed, Planted) {
  Loop loop{mlp({12, 8192, 4096})};
  loop.steps = 30;
  loop.after_step = [](Simulation& run, int step) {
    if (step != 9 && step != 21) return;
    const auto checkpoint = run.range("checkpoint");
    run.wait_event(kCopyStream, kComputeStream);
    run.copy_to_host(400u << 20, HostMemory::kPinned, kCopyStream);
    run.host(24'000);
  };
  return run_loop(seed, loop);
}

Program tail_of_a_short_kernel(std::uint64_t seed, Planted) {
  Loop loop{transformer({8, 4, 2048, 2048, 16, 50304})};
  loop.model.layers[2].forward.push_back(
      {"my_ops::count_tokens",
       "",
       "[[8192]]",
       "[\"long int\"]",
       {{"void count_tokens_kernel(long const*, int*, int)", 24, kMultiprocessors + 3, 1024, 64, 120'000}}});
  return run_loop(seed, loop);
}

/// 1001 classes, in the smallest product of all.
Program odd_number_of_classes(std::uint64_t seed, Planted) {
  Loop loop{cnn({})};
  Layer head{"classifier", {linear_op(256, 1001, 2048, Math::kMisaligned)}, {}, 2048 * 1001};
  head.backward = linear_backward_ops(256, 1001, 2048, Math::kMisaligned);
  loop.model.layers.push_back(std::move(head));
  return run_loop(seed, loop);
}

/// The clock moves a little, as it always does.
Program steady_clock(std::uint64_t seed, Planted) {
  Loop loop{transformer({8, 4, 2048, 2048, 16, 50304})};
  loop.steps = 30;
  loop.before_step = [](Simulation& run, int step) {
    const std::uint32_t clocks[] = {1980, 1965, 1980, 1950, 1965};
    run.set_clock(clocks[step % 5], 0, 66);
  };
  return run_loop(seed, loop);
}

/// Most of the memory is reserved, and nothing has to be given back.
Program much_reserved_memory(std::uint64_t seed, Planted) {
  Loop loop{cnn({20, 192, 150})};
  loop.after_step = [](Simulation& run, int) {
    run.counter("cuda:0 allocated bytes", 119 * kGiga);
    run.counter("cuda:0 reserved bytes", 133 * kGiga);
    run.counter("cuda:0 inactive split bytes", 7 * kGiga);
    run.counter("cuda:0 allocation retries", 1);
  };
  return run_loop(seed, loop);
}

std::vector<Program> two_good_hosts(std::uint64_t seed, Planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    HostLoop loop;
    loop.meeting = &meeting;
    loop.layers = 10;
    loop.layer_us = 1'500;
    loop.parameters = 40'000;
    return run_on_host(seed * 1000 + 500 + static_cast<std::uint64_t>(rank), loop);
  });
}

Program even_threads(std::uint64_t seed, Planted) {
  ThreadedLoop loop;
  loop.phases = 5;
  loop.phase_us = 40'000;
  return run_threaded(seed, loop);
}

}  // namespace

std::vector<AdviceCase> second_healthy_cases() {
  return {
      {"a CNN as it should be", {}, alone(plain_cnn), {}, true},
      {"4 ranks that gather layers ahead", {}, gathered_ahead, {}},
      {"losses are read after the last step", {}, alone(validates_at_end), {}},
      {"a graph is captured once", {}, alone(graph_after_warm_up), {}},
      {"large batches from pinned memory", {}, alone(large_pinned_batches), {}, true},
      {"a matrix times one vector", {}, alone(matrix_times_vector), {}},
      {"two elementwise kernels in a row", {}, alone(short_chain), {}},
      {"workers that are nearly on time", {}, alone(nearly_on_time), {}},
      {"two checkpoints", {}, alone(two_checkpoints), {}},
      {"a short kernel with a tail", {}, alone(tail_of_a_short_kernel), {}},
      {"1001 classes", {}, alone(odd_number_of_classes), {}},
      {"a clock that moves a little", {}, alone(steady_clock), {}},
      {"much memory is reserved", {}, alone(much_reserved_memory), {}},
      {"2 Gloo ranks as they should be", {}, two_good_hosts, {}, true},
      {"eight threads with the same work", {}, alone(even_threads), {}},
  };
}

}  // namespace rangefinder::testing::corpus
