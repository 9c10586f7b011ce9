// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/simulation.hpp"

#include <cstdint>
#include <string>

// What PyTorch's caching allocator does when memory is short, and what it counts.
namespace rangefinder::testing::corpus {

inline constexpr std::int64_t kGb = std::int64_t{1} << 30;

/// CUDA refuses a segment; all that is cached is given back, and asked for again.
inline void give_back_and_retry(Simulation& run, const std::string& op_name, std::int64_t allocated,
                                std::int64_t reserved, int segments) {
  const auto op = run.op(op_name, "[[134217728]]", "[\"c10::BFloat16\"]");
  run.call("cudaMalloc", 165, 2);  // cudaErrorMemoryAllocation
  run.synchronize_device();
  for (int i = 0; i < segments; ++i) {
    const std::uint64_t address = 0x7fb000000000 + static_cast<std::uint64_t>(i) * 0x40000000;
    run.free(address, 240);
    reserved -= kGb;
    run.memory(MemoryAction::kSegmentFree, address, kGb, allocated, reserved);
  }
  for (int i = 0; i < segments; ++i) {
    const std::uint64_t address = run.allocate(kGb, 370);
    reserved += kGb;
    run.memory(MemoryAction::kSegmentAllocate, address, kGb, allocated, reserved);
  }
}

inline void count_memory(Simulation& run, std::int64_t allocated, std::int64_t reserved, std::int64_t split,
                         std::int64_t retries) {
  run.counter("cuda:0 allocated bytes", allocated);
  run.counter("cuda:0 reserved bytes", reserved);
  run.counter("cuda:0 inactive split bytes", split);
  run.counter("cuda:0 allocation retries", retries);
}

}  // namespace rangefinder::testing::corpus
