// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>

namespace bench {

/// A job of `ranks` ranks, of which each pair is a pipeline of two stages, as a loader would deliver it: launches
/// joined, kernels of collectives with what they are a part of. It has everything that an analysis can ask for, and all
/// of it grows with the number of steps:
///
/// - steps with their parts: data, forward, backward, optimizer; layers in them; two micro-batches,
/// - operators inside of operators, with shapes and types of their inputs; autograd nodes on the engine's thread,
/// - a CUDA call for each launch, further ones for events, synchronisations and allocations,
/// - kernels on a stream for work and one for communication, copies on a third; a CUDA graph that each step replays,
/// - all-reduces between replicas, sends and receives between stages,
/// - what allocators of host and device did; readings of sensors; counters of ranges; overhead of the profiler.
///
/// The same numbers give the same timeline. It has `activities` or a few more: steps are whole. An even number of
/// ranks.
rangefinder::Timeline make_training_job(std::uint64_t activities, std::uint32_t ranks);

}  // namespace bench
