// SPDX-License-Identifier: MIT
//
// Jobs of several ranks, of the second part of the visible half.
#include "advice/corpus/cases.hpp"
#include "advice/corpus/training_job.hpp"

namespace rangefinder::testing::corpus {
namespace {

std::uint64_t seed_of_rank(std::uint64_t seed, int rank) {
  return seed * 1000 + 500 + static_cast<std::uint64_t>(rank);
}

/// Embeddings are on other ranks. Their vectors are exchanged while the dense layers before them are computed; or
/// first, and everything waits.
std::vector<Program> exchange_of_embeddings(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{recommender({26, 16384, 128, 10, 3072})};
    loop.steps = 20;
    const std::size_t last = loop.model.layers.size() - 1;
    const auto exchange = [&meeting](Simulation& run) {
      run.collective(CollectiveKind::kAllToAll, 26 * 16384 * 128 * 6, "BFloat16", meeting);
    };
    loop.after_layer = [=](Simulation& run, int, std::size_t layer) {
      if (layer == 0) exchange(run);
      if (layer == (planted(0) ? 0u : 6u)) run.wait_event(kComputeStream, kNcclStream);
    };
    loop.after_layer_backward = [=](Simulation& run, int, std::size_t layer) {
      if (layer == last) exchange(run);
      if (layer == (planted(0) ? last : last - 4)) run.wait_event(kComputeStream, kNcclStream);
    };
    return run_loop(seed_of_rank(seed, rank), loop);
  });
}

std::vector<Program> buckets_of_a_tensor(std::uint64_t seed, Planted planted) {
  return run_job(2, [=](int rank, Meeting& meeting) {
    Loop loop{mlp({24, 2048, 2048})};
    loop.steps = 20;
    Buckets buckets;
    buckets.of_layer = planted(0) ? 10 : 1;
    reduce_gradients(loop, meeting, buckets);
    return run_loop(seed_of_rank(seed, rank), loop);
  });
}

/// One rank has larger images than the others.
std::vector<Program> large_images(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    CnnShape shape{20, 128, 110};
    if (planted(0) && rank == 1) shape.block_gflops *= 1.35;
    Loop loop{cnn(shape)};
    loop.steps = 20;
    reduce_gradients(loop, meeting, {});
    return run_loop(seed_of_rank(seed, rank), loop);
  });
}

std::vector<Program> layers_gathered_late(std::uint64_t seed, Planted planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    Loop loop{mlp({12, 8192, 8192})};
    loop.steps = 16;
    shard_parameters(loop, meeting, !planted(0));
    return run_loop(seed_of_rank(seed, rank), loop);
  });
}

}  // namespace

std::vector<AdviceCase> second_job_cases() {
  using R = AdviceRule;
  return {
      {"4 ranks wait for the exchange of embeddings", {{R::kExposedCommunication}}, exchange_of_embeddings, {}},
      {"2 ranks reduce each tensor alone",
       {{R::kSmallBuckets, R::kExposedCommunication}},
       buckets_of_a_tensor,
       {{R::kExposedCommunication, "small collectives take longer than the computation that hides them"},
        {R::kSmallBuckets, "the cause, where exposed communication is named first"}}},
      {"one of 4 ranks has larger images", {{R::kRankImbalance}}, large_images, {}},
      {"8 ranks gather each layer when they need it", {{R::kExposedCommunication}}, layers_gathered_late, {}},
  };
}

}  // namespace rangefinder::testing::corpus
