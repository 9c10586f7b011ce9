// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace rangefinder::testing {

/// The seed of a property test: a new one every time, printed, so that RANGEFINDER_SEED repeats what failed.
inline std::uint64_t property_seed(const char* test) {
  const char* given = std::getenv("RANGEFINDER_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("%s: RANGEFINDER_SEED=%llu\n", test, static_cast<unsigned long long>(seed));
  return seed;
}

/// A number below `limit`, which is not 0.
inline std::uint64_t below(std::mt19937_64& random, std::uint64_t limit) { return random() % limit; }
/// Of any magnitude: as many small numbers as large ones.
inline std::uint64_t any_size(std::mt19937_64& random, unsigned most_bits = 64) {
  const auto bits = static_cast<unsigned>(random() % (most_bits + 1));
  return bits == 0 ? 0 : random() >> (64 - bits);
}

/// Whether tests try all that they can: ./dev test --all asks for it.
inline bool exhaustive() { return std::getenv("RANGEFINDER_EXHAUSTIVE") != nullptr; }

/// How often a test repeats itself: four times as often when exhaustive(); a quarter under a sanitizer, which is many
/// times slower and needs less luck.
inline int repeats(int times) {
  if (exhaustive()) times *= 4;
#if defined(RANGEFINDER_ADDRESS_SANITIZER) || defined(RANGEFINDER_THREAD_SANITIZER)
  return (times + 3) / 4;
#else
  return times;
#endif
}

}  // namespace rangefinder::testing
