// SPDX-License-Identifier: MIT
//
// Jobs of several ranks.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/training_job.hpp"

namespace rangefinder::testing::corpus {
namespace {

std::uint64_t seed_of(std::uint64_t seed, int rank) { return seed * 1000 + static_cast<std::uint64_t>(rank); }

/// All gradients are reduced when the backward pass is over.
std::vector<Program> reduced_at_end(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{transformer({8, 2, 2048, 2048, 16, 50304})};
    loop.steps = 20;
    Buckets buckets;
    buckets.at_end = planted(0);
    reduce_gradients(loop, meeting, buckets);
    return run_loop(seed_of(seed, rank), loop);
  });
}

/// A bucket for each few parameters.
std::vector<Program> a_bucket_a_tensor(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{cnn({24, 64, 60})};
    loop.steps = 20;
    Buckets buckets;
    buckets.of_layer = planted(0) ? 24 : 1;
    reduce_gradients(loop, meeting, buckets);
    return run_loop(seed_of(seed, rank), loop);
  });
}

/// One rank gets the longest texts.
std::vector<Program> uneven_batches(std::uint64_t seed, Planted planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    Loop loop{transformer({6, planted(0) && rank == 5 ? 5 : 4, 2048, 2048, 16, 50304})};
    loop.steps = 20;
    reduce_gradients(loop, meeting, {});
    return run_loop(seed_of(seed, rank), loop);
  });
}

std::vector<Program> sharded_without_prefetch(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{transformer({8, 2, 2048, 2048, 16, 50304})};
    loop.steps = 20;
    shard_parameters(loop, meeting, !planted(0));
    return run_loop(seed_of(seed, rank), loop);
  });
}

}  // namespace

std::vector<AdviceCase> visible_job_cases() {
  using R = AdviceRule;
  return {
      {"4 ranks reduce gradients after the backward pass", {{R::kExposedCommunication}}, reduced_at_end, {}},
      {"4 ranks reduce each tensor alone",
       {{R::kSmallBuckets, R::kExposedCommunication}},
       a_bucket_a_tensor,
       {{R::kExposedCommunication, "small collectives take longer than the computation that hides them"},
        {R::kSmallBuckets, "the cause, where exposed communication is named first"}}},
      {"one of 8 ranks has more to do", {{R::kRankImbalance}}, uneven_batches, {}},
      {"4 ranks gather each layer when they need it", {{R::kExposedCommunication}}, sharded_without_prefetch, {}},
  };
}

}  // namespace rangefinder::testing::corpus
