// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>

namespace rangefinder::bench {

/// Writes a torch.profiler trace of a made-up training run in the dialect of torch 2.11, gzip where the name ends in
/// .gz: steps of forward, backward and optimizer, nested operators with their arguments, launches, kernels on two
/// streams, copies, flows, links between forward and backward, allocator instants. The proportions and sizes are those
/// of real traces of that kind. The same `events` gives the same bytes on every machine.
Status write_synthetic_trace(const std::string& path, std::uint64_t events);

}  // namespace rangefinder::bench
