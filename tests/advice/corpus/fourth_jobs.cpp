// SPDX-License-Identifier: MIT
//
// Jobs of several ranks, of the fourth part of the visible half.
#include "advice/corpus/fourth_jobs.hpp"

#include "advice/corpus/cases.hpp"
#include "advice/corpus/fourth_models.hpp"
#include "advice/corpus/fourth_names.hpp"
#include "advice/corpus/third_models.hpp"

#include <utility>

namespace rangefinder::testing::corpus {
namespace {

/// Each layer is on four devices, which sum up what they have of its result.
std::vector<Program> sums_of_tensor_parallel(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{mlp({12, 4096, 8192})};
    loop.steps = 18;
    loop.names = terse_names();
    rename_layers(loop.model, "decoder.layers.first", "decoder.layers.", "decoder.layers.last");
    sum_layers(loop, meeting, std::int64_t{4096} * 8192, !planted(0));
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

std::vector<Program> gathers_after_step(std::uint64_t seed, Planted planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    Loop loop{mlp({10, 2048, 8192})};
    loop.steps = 18;
    loop.names = trainer_names();
    rename_layers(loop.model, "h.in", "h.", "h.out");
    shard_optimizer(loop, meeting, !planted(0));
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

/// Each weight and bias of a recognizer of speech is reduced alone, on a link that is half as fast.
std::vector<Program> bucket_for_each_tensor_of_speech(std::uint64_t seed, Planted planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    Loop loop{conformer({7, 8192})};
    loop.steps = 18;
    loop.names = lightning_names();
    Buckets buckets;
    buckets.of_layer = planted(0) ? 32 : 1;
    buckets.slower = 2;
    reduce_gradients(loop, meeting, buckets);
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

/// One rank drives through a city, the others do not.
std::vector<Program> scenes_of_a_city(std::uint64_t seed, Planted planted) {
  return run_job(6, [=](int rank, Meeting& meeting) {
    Loop loop{voxel_net({14, planted(0) && rank == 4 ? 620'000 : 450'000})};
    loop.steps = 20;
    loop.names = spanish_names();
    reduce_gradients(loop, meeting, {});
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

/// The longest sentences are on one rank, and a slow link is used when all is computed.
std::vector<Program> long_sentences_reduced_at_end(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{conformer({6, planted(0) && rank == 0 ? 24576 : 16384})};
    loop.steps = 18;
    loop.names = trainer_names();
    Buckets buckets;
    buckets.at_end = planted(1);
    buckets.slower = 9;
    reduce_gradients(loop, meeting, buckets);
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

/// Proteins on two ranks, which gather the blocks when they need them; features come from pageable memory.
std::vector<Program> gathers_late_and_pageable(std::uint64_t seed, Planted planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    Loop loop{mlp({9, 4096, 6144})};
    loop.steps = 18;
    loop.names = lightning_names();
    rename_layers(loop.model, "esm.layers.in", "esm.layers.", "esm.layers.out");
    loop.model.batch_bytes = 10u << 20;
    shard_parameters(loop, meeting, !planted(0));
    loop.data = [planted, model = loop.model](Simulation& run, int) {
      if (!planted(1)) return default_data(run, model);
      const auto copy = run.op("aten::_to_copy", "[[4096,640]]", "[\"float\"]");
      run.copy_to_device(model.batch_bytes, HostMemory::kPageable);
    };
    return run_loop(fourth_seed(seed, rank), loop);
  });
}

}  // namespace

std::vector<AdviceCase> fourth_job_cases() {
  using R = AdviceRule;
  return {
      {"4 ranks sum up each layer, and wait", {{R::kExposedCommunication}}, sums_of_tensor_parallel, {}},
      {"8 ranks gather all parameters after a step", {{R::kExposedCommunication}}, gathers_after_step, {}},
      {"2 ranks reduce each tensor of a recognizer alone",
       {{R::kSmallBuckets, R::kExposedCommunication}},
       bucket_for_each_tensor_of_speech,
       {{R::kExposedCommunication, "small collectives take longer than the computation that hides them"},
        {R::kSmallBuckets, "the cause, where exposed communication is named first"}}},
      {"one of 6 ranks has denser scenes", {{R::kRankImbalance}}, scenes_of_a_city, {}},
      {"one of 4 ranks has longer sentences, and all reduce at the end",
       {{R::kRankImbalance}, {R::kExposedCommunication}},
       long_sentences_reduced_at_end,
       {}},
      {"2 ranks gather layers late, and copy from pageable memory",
       {{R::kExposedCommunication}, {R::kPageableCopy}},
       gathers_late_and_pageable,
       {}},
  };
}

}  // namespace rangefinder::testing::corpus
