// SPDX-License-Identifier: MIT
//
// Jobs of several ranks, of the third part of the visible half.
#include "advice/corpus/third_jobs.hpp"

#include "advice/corpus/cases.hpp"

#include <utility>

namespace rangefinder::testing::corpus {
namespace {

void name_as_engine_does(Loop& loop) {
  loop.names.step = "train_batch";
  loop.names.data = "next(data_iter)";
  loop.names.forward = "engine.forward";
  loop.names.backward = "engine.backward";
  loop.names.optimizer = "engine.step";
}

std::vector<Program> tokens_exchanged_alone(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{mixture_of_experts({4})};
    loop.steps = 20;
    loop.names.step = "train_step";
    exchange_tokens(loop, meeting, 1 << 25, !planted(0));
    return run_loop(third_seed(seed, rank), loop);
  });
}

std::vector<Program> one_reduction_at_end(std::uint64_t seed, Planted planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    Loop loop{patch_transformer({8, 32, 256, 1280})};
    loop.steps = 16;
    Buckets buckets;
    buckets.at_end = planted(0);
    buckets.slower = 2;
    reduce_gradients(loop, meeting, buckets);
    rename_layers(loop.model, "patch_embed", "blocks.", "head");
    name_as_engine_does(loop);
    return run_loop(third_seed(seed, rank), loop);
  });
}

std::vector<Program> bucket_for_each_weight(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{unet({8, 4, 640, 32})};
    loop.steps = 20;
    Buckets buckets;
    buckets.of_layer = planted(0) ? 20 : 1;
    reduce_gradients(loop, meeting, buckets);
    name_as_engine_does(loop);
    return run_loop(third_seed(seed, rank), loop);
  });
}

/// One part of the graph has more edges than the others.
std::vector<Program> uneven_parts_of_a_graph(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    const std::int64_t edges = planted(0) && rank == 3 ? 2'900'000 : 2'000'000;
    Loop loop{graph_net({6, 200'000, edges, 256})};
    loop.steps = 20;
    loop.names.step = "iteration";
    loop.names.data = "sample_neighbours";
    reduce_gradients(loop, meeting, {});
    return run_loop(third_seed(seed, rank), loop);
  });
}

/// The norm of the gradients is read before they are used.
std::vector<Program> reduces_at_end_and_reads(std::uint64_t seed, Planted planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    Loop loop{patch_transformer({10, 24, 256, 1280})};
    loop.steps = 20;
    Buckets buckets;
    buckets.at_end = planted(0);
    buckets.slower = 4;
    reduce_gradients(loop, meeting, buckets);
    rename_layers(loop.model, "conv_proj", "encoder.layer_", "heads");
    name_as_engine_does(loop);
    if (planted(1))
      loop.after_step = [](Simulation& run, int) {
        for (int value = 0; value < 3; ++value) {
          const auto log = run.range("logger.log");
          run.item();
          run.host(560);
        }
      };
    return run_loop(third_seed(seed, rank), loop);
  });
}

}  // namespace

std::vector<AdviceCase> third_job_cases() {
  using R = AdviceRule;
  return {
      {"4 ranks wait while they exchange tokens", {{R::kExposedCommunication}}, tokens_exchanged_alone, {}},
      {"8 ranks reduce what they have when all is computed", {{R::kExposedCommunication}}, one_reduction_at_end, {}},
      {"4 ranks reduce each weight of a denoiser alone",
       {{R::kSmallBuckets, R::kExposedCommunication}},
       bucket_for_each_weight,
       {{R::kExposedCommunication, "small collectives take longer than the computation that hides them"},
        {R::kSmallBuckets, "the cause, where exposed communication is named first"}}},
      {"one of 4 ranks has more edges", {{R::kRankImbalance}}, uneven_parts_of_a_graph, {}},
      {"2 ranks reduce at the end, and read values",
       {{R::kExposedCommunication}, {R::kImplicitSynchronization}},
       reduces_at_end_and_reads,
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
