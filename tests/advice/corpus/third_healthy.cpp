// SPDX-License-Identifier: MIT
//
// Programs with nothing worth changing, of the third part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/third_jobs.hpp"
#include "advice/corpus/third_on_host.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

Loop named_loop(Model model) {
  Loop loop{std::move(model)};
  loop.names = short_names();
  return loop;
}

Program plain_denoiser(std::uint64_t seed, Planted) { return run_loop(seed, named_loop(unet({10}))); }

std::vector<Program> exchange_is_hidden(std::uint64_t seed, Planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop = named_loop(mixture_of_experts({4}));
    loop.steps = 16;
    exchange_tokens(loop, meeting, 1 << 24, true);
    return run_loop(third_seed(seed, rank), loop);
  });
}

/// Losses of four micro-batches are summed up on the device, and read in one step of ten.
Program reads_one_in_ten(std::uint64_t seed, Planted) {
  const Loop loop = named_loop(llama({4}));
  Simulation run(seed);
  TwoStepsAhead ahead;
  for (int step = 0; step < 20; ++step) {
    run.begin_step();
    const auto whole = run.range(loop.names.step);
    ahead.wait(run);
    for (int micro = 0; micro < 4; ++micro) {
      in_range(run, loop.names.data, [&] { default_data(run, loop.model); });
      run_forward(run, loop, step);
      run_backward(run, loop, step);
    }
    run_optimizer(run, loop.model, loop.names.optimizer);
    ahead.mark(run);
    if (step % 10 != 9) continue;
    const auto log = run.range("log_loss");
    run.item();
    run.host(300);
  }
  return run.finish();
}

/// cuDNN tries its algorithms in the first step, each with a workspace of its own.
Program benchmarks_first(std::uint64_t seed, Planted) {
  Loop loop = named_loop(unet({}));
  loop.before_step = [](Simulation& run, int step) {
    if (step > 0) return;
    const auto benchmark = run.range("cudnn_benchmark");
    for (int algorithm = 0; algorithm < 9; ++algorithm) {
      run.overhead("Lazy Function Loading", 2'100);
      const std::uint64_t workspace = run.allocate(256u << 20, 350);
      run.launch(convolution_kernel(240e9, "fprop", Math::kBf16));
      run.synchronize_stream();
      run.free(workspace, 300);
    }
  };
  return run_loop(seed, loop);
}

/// The mean loss of all ranks is reduced too: a collective of one value, which nobody waits for.
std::vector<Program> reduces_the_loss_too(std::uint64_t seed, Planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    Loop loop = named_loop(patch_transformer({8, 64, 256, 1280}));
    loop.steps = 12;
    reduce_gradients(loop, meeting, {});
    rename_layers(loop.model, "patch_embed", "blocks.", "head");
    loop.after_forward = [&meeting](Simulation& run, int) {
      run.collective(CollectiveKind::kAllReduce, 1, "Float", meeting);
    };
    return run_loop(third_seed(seed, rank), loop);
  });
}

/// Results are copied to pinned memory behind the computation, and used when the next but one batch is launched.
Program results_two_batches_later(std::uint64_t seed, Planted) {
  Loop loop = named_loop(patch_transformer({12, 128, 256, 1280}));
  loop.training = false;
  loop.names.step = "serve_batch";
  loop.after_step = [](Simulation& run, int) {
    const auto copy = run.op("aten::copy_", "[[128,1000],[128,1000],[]]", "[\"float\",\"float\",\"Scalar\"]");
    run.wait_event(kCopyStream, kComputeStream);
    run.copy_to_host(512'000, HostMemory::kPinned, kCopyStream);
    run.host(140);
  };
  return run_loop(seed, loop);
}

Program small_graphs_in_a_cuda_graph(std::uint64_t seed, Planted) {
  Loop loop{graph_net({8, 12'000, 60'000, 128})};
  loop.steps = 40;
  loop.graph = true;
  loop.names.graph = "replay";
  return run_loop(seed, loop);
}

/// A solver that needs double precision.
Program products_of_doubles(std::uint64_t seed, Planted) {
  Loop loop = named_loop(mlp({8, 4096, 2048}));
  for (Layer& layer : loop.model.layers) {
    Op product{"aten::matmul",
               "aten::mm",
               shapes_of({{2048, 2048}, {2048, 2048}}),
               types_of("double", 2),
               {{"void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_128x64_16x3_nn_align1>(T1::Params)", 310,
                 4 * kMultiprocessors, 128, 234, 73'728}}};
    layer.forward.push_back(std::move(product));
  }
  loop.names.step = "solve";
  return run_loop(seed, loop);
}

/// One step in 24 is followed by an evaluation, whose result is read.
Program evaluates_once(std::uint64_t seed, Planted) {
  Loop loop = named_loop(cnn({22, 192, 150}));
  rename_layers(loop.model, "stem", "stage.", "last");
  loop.after_step = [model = loop.model](Simulation& run, int step) {
    if (step != 15) return;
    const auto evaluate = run.range("evaluate");
    Loop evaluation{model};
    for (int batch = 0; batch < 6; ++batch) run_forward(run, evaluation, step);
    run.item();
  };
  return run_loop(seed, loop);
}

/// torch.cuda.empty_cache() between two epochs.
Program empties_cache_once(std::uint64_t seed, Planted) {
  Loop loop = named_loop(llama({}));
  loop.before_step = [](Simulation& run, int step) {
    if (step != 0 && step != 12) return;
    const auto range = run.range(step == 0 ? "warm_up" : "empty_cache");
    for (std::uint64_t i = 0; step == 12 && i < 6; ++i) run.free(0x7f2000000000 + i * 0x40000000, 240);
    for (int i = 0; i < 6; ++i) run.allocate(1u << 30, 360);
  };
  return run_loop(seed, loop);
}

/// 40 waves and a few blocks: a large share of the step, of which the last wave is next to nothing.
Program many_waves(std::uint64_t seed, Planted) {
  Loop loop = named_loop(mixture_of_experts({}));
  for (std::size_t i = 0; i < loop.model.layers.size(); i += kPartsOfExperts)
    loop.model.layers[i].forward.push_back(
        {"my_ops::permute_tokens",
         "",
         shapes_of({{16384, 2048}}),
         types_of("c10::BFloat16", 1),
         {{"void permute_tokens_kernel<__nv_bfloat16, 8>(__nv_bfloat16 const*, int const*, int, int)", 810,
           80 * kMultiprocessors + 7, 512, 56, 80'000}}});
  return run_loop(seed, loop);
}

/// Experts by grouped products, a block of three warpgroups on each multiprocessor.
Program grouped_products_alone(std::uint64_t seed, Planted) {
  Loop loop = named_loop(mixture_of_experts({4, 16384, 2048, 4096, 4096}));
  without_module_ranges(loop.model);
  loop.names = no_names();
  return run_loop(seed, loop);
}

Program compiled_llama(std::uint64_t seed, Planted) { return run_loop(seed, named_loop(llama({}))); }

/// The power limit takes 2 % of the clock for a few steps.
Program power_limit_for_a_moment(std::uint64_t seed, Planted) {
  Loop loop = named_loop(cnn({}));
  loop.steps = 30;
  loop.before_step = [](Simulation& run, int step) {
    if (step == 14) run.set_clock(1935, 0x4, 73);
    if (step == 17) run.set_clock(1980, 0, 71);
  };
  return run_loop(seed, loop);
}

std::vector<Program> three_good_hosts(std::uint64_t seed, Planted) {
  return run_job(3, [=](int rank, Meeting& meeting) {
    HostLoop loop = minibatch_loop();
    loop.meeting = &meeting;
    loop.layers = 12;
    loop.layer_us = 1'300;
    loop.parameters = 30'000;
    return run_on_host(third_seed(seed, rank), loop);
  });
}

/// Threads whose work differs by 2 %.
Program nearly_even_threads(std::uint64_t seed, Planted) {
  ThreadedLoop loop = render_loop();
  loop.shares = {0.126, 0.124, 0.125, 0.1255, 0.1245, 0.125, 0.124, 0.126};
  loop.phases = 4;
  loop.phase_us = 48'000;
  return run_threaded(seed, loop);
}

/// Reading a batch takes 3 ms of the host, which has time for that.
Program batches_in_time(std::uint64_t seed, Planted) {
  Loop loop = named_loop(click_through({}));
  loop.names.step = "";
  loop.data = [model = loop.model](Simulation& run, int) {
    {
      const auto read = run.range("np.memmap");
      run.host(3'000);
    }
    default_data(run, model);
  };
  return run_loop(seed, loop);
}

}  // namespace

std::vector<AdviceCase> third_healthy_cases() {
  return {
      {"a denoiser as it should be", {}, alone(plain_denoiser), {}, true},
      {"4 ranks that exchange tokens behind a product", {}, exchange_is_hidden, {}},
      {"losses are read in one step of ten", {}, alone(reads_one_in_ten), {}, true},
      {"cuDNN tries its algorithms in the first step", {}, alone(benchmarks_first), {}, true},
      {"8 ranks that reduce their loss too", {}, reduces_the_loss_too, {}},
      {"results are used two batches later", {}, alone(results_two_batches_later), {}},
      {"small graphs in a CUDA graph", {}, alone(small_graphs_in_a_cuda_graph), {}},
      {"products of doubles", {}, alone(products_of_doubles), {}},
      {"an evaluation in one step of 24", {}, alone(evaluates_once), {}},
      {"the cache is emptied once", {}, alone(empties_cache_once), {}},
      {"forty waves and a few blocks", {}, alone(many_waves), {}},
      {"grouped products of experts", {}, alone(grouped_products_alone), {}},
      {"a compiled llama", {}, alone(compiled_llama), {}},
      {"the power limit for a moment", {}, alone(power_limit_for_a_moment), {}},
      {"3 Gloo ranks as they should be", {}, three_good_hosts, {}, true},
      {"threads with nearly the same work", {}, alone(nearly_even_threads), {}},
      {"batches that are read in time", {}, alone(batches_in_time), {}},
  };
}

}  // namespace rangefinder::testing::corpus
