// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/third_models.hpp"
#include "advice/corpus/training_job.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>

// Jobs that only the third part has.
namespace rangefinder::testing::corpus {

inline std::uint64_t third_seed(std::uint64_t seed, int rank) {
  return seed * 1000 + 700 + static_cast<std::uint64_t>(rank);
}

/// Tokens go to the ranks that have their experts, and come back. `hidden`: while the products of the expert that all
/// tokens share are computed; else the device waits.
inline void exchange_tokens(Loop& loop, Meeting& meeting, std::int64_t elements, bool hidden) {
  enum Part : std::size_t { kAttention, kFirst, kExperts, kSecond };
  const auto exchange = [=, &meeting](Simulation& run) {
    const auto range = run.range("all_to_all_tokens");
    run.collective(CollectiveKind::kAllToAll, elements, "BFloat16", meeting);
  };
  const auto wait = [](Simulation& run) { run.wait_event(kComputeStream, kNcclStream); };
  loop.after_layer = [=](Simulation& run, int, std::size_t layer) {
    const std::size_t part = layer % kPartsOfExperts;
    if (part == kAttention || part == kExperts) exchange(run);
    if (part == (hidden ? kFirst : kAttention) || part == (hidden ? kSecond : kExperts)) wait(run);
  };
  // The gradients go the other way: of the experts' results before the second product, of their tokens after them.
  loop.after_forward = [=](Simulation& run, int) {
    exchange(run);
    if (!hidden) wait(run);
  };
  loop.after_layer_backward = [=](Simulation& run, int, std::size_t layer) {
    const std::size_t part = layer % kPartsOfExperts;
    if (part == kExperts || (part == kAttention && layer != 0)) exchange(run);
    if (hidden ? part == kSecond || part == kFirst : part == kExperts || part == kAttention) wait(run);
  };
}

}  // namespace rangefinder::testing::corpus
