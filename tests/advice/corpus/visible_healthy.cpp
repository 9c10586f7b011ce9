// SPDX-License-Identifier: MIT
//
// Programs with nothing worth changing, most of which look as if there were.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/host_training.hpp"
#include "advice/corpus/training_job.hpp"

#include <utility>

namespace rangefinder::testing::corpus {
namespace {

Program good_transformer(std::uint64_t seed, Planted) {
  return run_loop(seed, Loop{transformer({8, 4, 2048, 2048, 16, 50304})});
}

/// The loss is read once in 12 steps, and after the last one.
Program reads_now_and_then(std::uint64_t seed, Planted) {
  Loop loop{cnn({})};
  loop.after_step = [](Simulation& run, int step) {
    if (step % 12 != 11) return;
    const auto range = run.range("log");
    run.item();
    run.host(80);
  };
  Simulation run(seed);
  run_loop(run, loop);
  run.end_step();
  for (int i = 0; i < 5; ++i) run.item();
  return run.finish();
}

/// Compilation, modules, memory: all in the first two steps.
Program long_warm_up(std::uint64_t seed, Planted) {
  Loop loop{transformer({6, 4, 2048, 2048, 16, 50304})};
  loop.before_step = [](Simulation& run, int step) {
    if (step > 1) return;
    {
      const auto compile = run.range("entire_frame_compile (dynamo_timed)");
      run.host(220'000);
    }
    for (int i = 0; i < 10; ++i) run.call("cuModuleLoadData", 1'100);
    for (int i = 0; i < 20; ++i) {
      const auto address = run.allocate(512u << 20, 380);
      run.memory(MemoryAction::kSegmentAllocate, address, 512u << 20, (step * 20 + i) * (std::int64_t{400} << 20),
                 (step * 20 + i + 1) * (std::int64_t{512} << 20));
    }
    run.overhead("Lazy Function Loading", 4'000);
  };
  return run_loop(seed, loop);
}

std::vector<Program> overlapped_job(std::uint64_t seed, Planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{transformer({6, 8, 2048, 2048, 16, 50304})};
    loop.steps = 16;
    reduce_gradients(loop, meeting, {});
    return run_loop(seed * 1000 + static_cast<std::uint64_t>(rank), loop);
  });
}

Program small_kernels_in_a_graph(std::uint64_t seed, Planted) {
  Loop loop{lstm({2, 48, 512, 768})};
  loop.graph = true;
  return run_loop(seed, loop);
}

/// Kernels of 9 us, which one operator launches faster than the device runs them.
Program small_kernels_in_time(std::uint64_t seed, Planted) {
  Loop loop{mlp({6, 4096, 4096})};
  for (Layer& layer : loop.model.layers) {
    Op scan{"my_ops::chunked_scan", "", shapes_of({{64, 1024, 512}}), types_of("c10::BFloat16", 1), {}};
    for (int chunk = 0; chunk < 24; ++chunk)
      scan.kernels.push_back(
          {"void chunk_scan_fwd_kernel<__nv_bfloat16, 64, 64>(ChunkScanParams)", 9, 4 * kMultiprocessors, 256, 64, 0});
    layer.forward.push_back(std::move(scan));
  }
  return run_loop(seed, loop);
}

/// The host waits 9 ms a step for data; the device has work for longer.
Program hidden_data_wait(std::uint64_t seed, Planted) {
  Loop loop{transformer({8, 4, 2048, 2048, 16, 50304})};
  loop.data = [model = loop.model](Simulation& run, int) {
    {
      const auto wait = run.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
      run.host(9'000);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

Program one_slow_step(std::uint64_t seed, Planted) {
  Loop loop{cnn({20, 192, 150})};
  loop.before_step = [](Simulation& run, int step) {
    if (step == 13) run.host(90'000);  // the garbage collector
  };
  return run_loop(seed, loop);
}

/// The router of a mixture of experts, and the loss, compute with floats.
Program few_floats(std::uint64_t seed, Planted) {
  Loop loop{mlp({12, 8192, 4096})};
  loop.model.layers[5].forward.push_back(linear_op(8192, 16, 1024, Math::kFp32));
  return run_loop(seed, loop);
}

Program good_decoder(std::uint64_t seed, Planted) {
  Loop loop{decoder({24, 32, 8192})};
  loop.training = false;
  loop.steps = 40;
  loop.after_step = [](Simulation& run, int) {
    const auto op = run.op("aten::argmax", "[[32,128256]]", "[\"float\"]");
    run.launch(
        streaming_kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::"
                         "ArgMaxOps<float>, unsigned int, long, 4, 4> >",
                         1.6e7, 512));
    run.copy_to_host(256, HostMemory::kPinned);
  };
  return run_loop(seed, loop);
}

Program rare_low_occupancy(std::uint64_t seed, Planted) {
  Loop loop{mlp({12, 8192, 4096})};
  loop.model.layers[3].forward.push_back(
      {"my_ops::sample",
       "",
       "[[8192,8]]",
       "[\"float\"]",
       {{"void sample_neighbours_kernel<float>(float const*, int*, int)", 28, 40, 32, 200, 180'000}}});
  return run_loop(seed, loop);
}

Program labels_from_pageable_memory(std::uint64_t seed, Planted) {
  Loop loop{cnn({})};
  loop.data = [model = loop.model](Simulation& run, int) {
    default_data(run, model);
    const auto copy = run.op("aten::copy_", "[[256],[256],[]]", "[\"long int\",\"long int\",\"Scalar\"]");
    run.copy_to_device(2048, HostMemory::kPageable);
  };
  return run_loop(seed, loop);
}

Program good_gan(std::uint64_t seed, Planted) {
  const Model generator = cnn({8, 128, 120}), discriminator = cnn({10, 128, 140});
  Simulation run(seed);
  TwoStepsAhead ahead;
  for (int step = 0; step < 24; ++step) {
    run.begin_step();
    ahead.wait(run);
    {
      const auto data = run.range("data");
      default_data(run, generator);
    }
    for (const Model* model : {&discriminator, &generator}) {
      const auto part = run.range(model == &generator ? "generator" : "discriminator");
      const Loop loop{*model};
      run_forward(run, loop, step);
      run_backward(run, loop, step);
      run_optimizer(run, *model);
    }
    ahead.mark(run);
  }
  return run.finish();
}

std::vector<Program> good_gloo_job(std::uint64_t seed, Planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    HostLoop loop;
    loop.meeting = &meeting;
    loop.parameters = 60'000;
    loop.layer_us = 2'400;
    return run_on_host(seed * 1000 + static_cast<std::uint64_t>(rank), loop);
  });
}

Program good_on_host(std::uint64_t seed, Planted) { return run_on_host(seed, HostLoop{}); }

Program loaders_beside_training(std::uint64_t seed, Planted) {
  Program program = run_on_host(seed, HostLoop{});
  add_loader_threads(program, seed, 3, 14'000);
  return program;
}

/// Threads that decode are as long as a phase, and are done at other times.
Program loaders_beside_threads(std::uint64_t seed, Planted) {
  ThreadedLoop loop;
  loop.shares = std::vector<double>(6, 1.0 / 6);
  Program program = run_threaded(seed, loop);
  add_loader_threads(program, seed, 2, 3'000);
  return program;
}

/// Parts that are as equal as a division by rows makes them.
Program parts_by_rows(std::uint64_t seed, Planted) {
  ThreadedLoop loop;
  loop.shares = {0.1275, 0.1225, 0.1260, 0.1240, 0.1285, 0.1230, 0.1245, 0.1240};
  return run_threaded(seed, loop);
}

/// Half of the processors are the other threads of the same cores.
Program thread_for_each_core(std::uint64_t seed, Planted) {
  ThreadedLoop loop;
  loop.processors = 16;
  return run_threaded(seed, loop);
}

/// Records are read while the device has enough to do. Only the first step waits for them.
Program records_in_time(std::uint64_t seed, Planted) {
  Loop loop{mlp({12, 8192, 2560})};
  loop.steps = 16;
  loop.names.data = "read_records";
  loop.data = [model = loop.model](Simulation& run, int) {
    run.host(3'200);
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> visible_healthy_cases() {
  return {
      {"a transformer as it should be", {}, alone(good_transformer), {}, true},
      {"the loss is read once in 12 steps", {}, alone(reads_now_and_then), {}},
      {"two steps of warm-up compile and allocate", {}, alone(long_warm_up), {}, true},
      {"4 ranks whose communication is hidden", {}, overlapped_job, {}},
      {"small kernels in a graph", {}, alone(small_kernels_in_a_graph), {}},
      {"small kernels that are launched in time", {}, alone(small_kernels_in_time), {}},
      {"a wait for data that the device does not see", {}, alone(hidden_data_wait), {}},
      {"one step of 24 is slow", {}, alone(one_slow_step), {}},
      {"few products of floats", {}, alone(few_floats), {}},
      {"a decoder that the memory's bandwidth limits", {}, alone(good_decoder), {}},
      {"a kernel of low occupancy that takes no time", {}, alone(rare_low_occupancy), {}},
      {"labels are copied from pageable memory", {}, alone(labels_from_pageable_memory), {}},
      {"a GAN with two optimizers", {}, alone(good_gan), {}},
      {"4 Gloo ranks whose communication is hidden", {}, good_gloo_job, {}},
      {"training on CPUs as it should be", {}, alone(good_on_host), {}, true},
      {"training on CPUs beside threads that decode", {}, alone(loaders_beside_training), {}},
      {"threads that compute beside threads that decode", {}, alone(loaders_beside_threads), {}},
      {"parts of a few per cent more", {}, alone(parts_by_rows), {}},
      {"a thread for each core", {}, alone(thread_for_each_core), {}},
      {"records are read in time", {}, alone(records_in_time), {}, true},
  };
}

}  // namespace rangefinder::testing::corpus
