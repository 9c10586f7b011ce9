// SPDX-License-Identifier: MIT
#pragma once

#include "bench/row.hpp"

#include <cstddef>
#include <vector>

// Figures of a variant from those of its ranks. A single process is one rank, whose figures are the variant's.
namespace rangefinder::bench {

/// How many processes a variant gets where `ranks` were asked for: those, or one, if it is of one process.
unsigned ranks_of(const Benchmark& benchmark, unsigned ranks);

/// Of the answers of all ranks to one round of steps: whose steps took longest by wall time. The others waited for it.
std::size_t slowest_rank(const std::vector<Json>& answers);

/// How long all took: the longest `request_ns` and `start_ns`. Energy only of a single process: ranks may share a
/// device.
Json slowest_answer(const std::vector<Json>& answers);

/// Bytes, work and metrics of the variant from those of `ranks`: bytes and work added up, metrics as they declare.
void add_up(VariantResult& variant);

}  // namespace rangefinder::bench
