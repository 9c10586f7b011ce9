// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/worker.hpp>
#include <rangefinder/result.hpp>

#include <functional>
#include <string>
#include <vector>

namespace rangefinder::bench {

/// What a worker says of itself.
struct Description {
  std::vector<Benchmark> benchmarks;
  std::string torch;
  std::string cuda;
  std::string driver;
  DeviceFacts gpu;
};

/// Starts the worker, asks, and ends it. kUnreadable for names that cannot be files.
Result<Description> describe(const std::string& worker, const std::function<bool()>& cancelled);

/// Those that fit any target; see list_targets.
Result<std::vector<Benchmark>> chosen(const std::vector<Benchmark>& benchmarks,
                                      const std::vector<std::string>& targets);

/// The first of each family, then the second of each, ...: a run that is cut short has seen all. A family has the first
/// word of its names in common: kv_cache_naive, kv_cache_paged.
void put_one_of_each_family_first(std::vector<Benchmark>& benchmarks);

}  // namespace rangefinder::bench
