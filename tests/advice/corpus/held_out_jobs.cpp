// SPDX-License-Identifier: MIT
//
// Jobs of several ranks, of the half that rules are not made with.
#include "advice/corpus/held_out_jobs.hpp"

#include "advice/corpus/cases.hpp"
#include "advice/corpus/held_out_models.hpp"
#include "advice/corpus/held_out_names.hpp"
#include "advice/corpus/third_jobs.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::testing::corpus {
namespace {

/// A layer's products are on four devices, its sequences too: as many products as a fourth of the rows would have.
std::vector<Program> sequence_parallel(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{encoder_decoder({4, 2048, 2048, 4096, 8192, 8192})};
    loop.steps = 16;
    loop.names = megatron_names();
    gather_and_scatter_sequences(loop, meeting, std::int64_t{8192} * 4096, !planted(0));
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

/// Batches of 48 images are large enough for norms of their own.
std::vector<Program> norms_of_all_ranks(std::uint64_t seed, Planted planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    Loop loop{bottleneck_net({48, 56, {3, 4, 6, 3}})};
    loop.steps = 14;
    loop.names = reference_names();
    reduce_gradients(loop, meeting, {});
    if (planted(0)) synchronize_norms(loop, meeting);
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

/// bucket_cap_mb=1.
std::vector<Program> buckets_of_a_megabyte(std::uint64_t seed, Planted planted) {
  return run_job(3, [=](int rank, Meeting& meeting) {
    Loop loop{llama({6, 4096, 2048, 1536, 4096})};
    loop.steps = 16;
    loop.names = fairseq_names();
    Buckets buckets;
    buckets.of_layer = planted(0) ? 56 : 1;
    reduce_gradients(loop, meeting, buckets);
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

/// The router likes the experts of one rank.
std::vector<Program> popular_experts(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{mixture_of_experts({4, 16384})};
    loop.steps = 16;
    loop.names = megatron_names();
    if (planted(0) && rank == 2)
      for (std::size_t layer = 2; layer < loop.model.layers.size(); layer += kPartsOfExperts)
        for (auto* ops : {&loop.model.layers[layer].forward, &loop.model.layers[layer].backward})
          for (Op& op : *ops)
            for (Kernel& kernel : op.kernels) kernel.us *= 1.9;
    exchange_tokens(loop, meeting, std::int64_t{2} * 16384 * 2048, true);
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

/// The shards of one rank are on a slow disk; the others wait for its gradients.
std::vector<Program> one_slow_disk(std::uint64_t seed, Planted planted) {
  return run_job(6, [=](int rank, Meeting& meeting) {
    Loop loop{bottleneck_net({96, 64, {3, 4, 6, 3}})};
    loop.steps = 16;
    loop.names = reference_names();
    reduce_gradients(loop, meeting, {});
    loop.data = [slow = planted(0) && rank == 4, model = loop.model](Simulation& run, int) {
      if (slow) {
        const auto next = run.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
        run.host(15'000);
      }
      default_data(run, model);
    };
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

/// Gradients are clipped by their norm, which is that of all shards, and which the host reads.
std::vector<Program> reads_the_norm_of_all(std::uint64_t seed, Planted planted) {
  return run_job(4, [=](int rank, Meeting& meeting) {
    Loop loop{mlp({9, 4096, 6144})};
    loop.steps = 18;
    loop.names = deepspeed_names();
    rename_layers(loop.model, "gpt_neox.embed_in", "gpt_neox.layers.", "embed_out");
    reduce_gradients(loop, meeting, {});
    loop.after_backward = [planted, wait = loop.after_backward](Simulation& run, int step) {
      wait(run, step);
      const auto clip = run.range("clip_grad_norm_");
      run_op(run, elementwise_op("aten::_foreach_norm", "lpnorm_kernel", {40'000'000}, Math::kBf16));
      if (planted(0)) run.item();
      run.host(1'900);
    };
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

/// Vectors are exchanged while nothing is computed, and the over arch begins with floats.
std::vector<Program> vectors_and_floats(std::uint64_t seed, Planted planted) {
  return run_job(8, [=](int rank, Meeting& meeting) {
    Loop loop{recommender({32, 12288, 128, 9, 2560})};
    loop.steps = 14;
    loop.names = torchrec_names();
    if (planted(1)) {
      const Model floats = mlp({1, 12288, 1408, Math::kFp32});
      loop.model.layers[5].forward.push_back(floats.layers[0].forward[0]);
    } else {
      loop.model.layers[5].forward.push_back(linear_op(12288, 1408, 1408, Math::kBf16));
    }
    exchange_vectors(loop, meeting, std::int64_t{32} * 12288 * 128 * 5, planted(0) ? 0 : 6);
    return run_loop(held_out_seed(seed, rank), loop);
  });
}

}  // namespace

std::vector<AdviceCase> held_out_job_cases() {
  using R = AdviceRule;
  return {
      {"4 ranks gather and scatter sequences, and wait", {{R::kExposedCommunication}}, sequence_parallel, {}},
      {"8 ranks share the sums of each norm",
       {{R::kExposedCommunication, R::kSmallBuckets}},
       norms_of_all_ranks,
       {{R::kSmallBuckets, "the collectives that all wait for are small ones"},
        {R::kExposedCommunication, "the wait for them, where that they are small is named first"}}},
      {"3 ranks reduce gradients by the megabyte",
       {{R::kSmallBuckets, R::kExposedCommunication}},
       buckets_of_a_megabyte,
       {{R::kExposedCommunication, "small collectives take longer than the computation that hides them"},
        {R::kSmallBuckets, "the cause, where exposed communication is named first"}}},
      {"one of 4 ranks has the popular experts", {{R::kRankImbalance}}, popular_experts, {}},
      {"one of 6 ranks has a slow disk",
       {{R::kDataWait, R::kRankImbalance}},
       one_slow_disk,
       {{R::kRankImbalance, "the others wait for the rank that waits for data"},
        {R::kDataWait, "what the slow rank waits for"}}},
      {"4 ranks read the norm of all gradients", {{R::kImplicitSynchronization}}, reads_the_norm_of_all, {}},
      {"8 ranks wait for vectors, and a layer is of floats",
       {{R::kExposedCommunication}, {R::kNoTensorCores, R::kFp32Math}},
       vectors_and_floats,
       {{R::kNoTensorCores, "the other name of the cause"}, {R::kFp32Math, "the other name of the cause"}}},
  };
}

}  // namespace rangefinder::testing::corpus
