// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace rangefinder::testing {

/// A sanitizer makes what it checks many times slower.
constexpr bool sanitized() {
#if defined(RANGEFINDER_ADDRESS_SANITIZER) || defined(RANGEFINDER_THREAD_SANITIZER)
  return true;
#else
  return false;
#endif
}

/// Whether tests take their time: ./dev test --all asks for it.
inline bool at_length() { return std::getenv("RANGEFINDER_EXHAUSTIVE") != nullptr; }
/// Whether they try all that they can. Not under a sanitizer, where that would take hours.
inline bool exhaustive() { return at_length() && !sanitized(); }

/// How often a test repeats itself: four times as often when at_length(), a quarter under a sanitizer.
inline int repeats(int times) {
  if (at_length()) times *= 4;
  return sanitized() ? (times + 3) / 4 : times;
}

/// RANGEFINDER_SEED repeats what failed; null: it is not set.
inline const char* given_seed() { return std::getenv("RANGEFINDER_SEED"); }

inline std::uint64_t first_seed() {
  const char* const given = given_seed();
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

/// The seed of a property test: a new one every time, printed.
inline std::uint64_t property_seed(const char* test) {
  const std::uint64_t seed = first_seed();
  std::printf("%s: RANGEFINDER_SEED=%llu\n", test, static_cast<unsigned long long>(seed));
  return seed;
}

/// The seeds of a property test, one a round, for tests whose rounds take long: RANGEFINDER_SEED makes it the one round
/// that failed.
///
///   for (const std::uint64_t seed : property_seeds("round trip", 300)) {
///     INFO("RANGEFINDER_SEED=" << seed);
inline std::vector<std::uint64_t> property_seeds(const char* test, int rounds) {
  const std::uint64_t first = first_seed();
  std::vector<std::uint64_t> seeds(given_seed() != nullptr ? 1 : static_cast<std::size_t>(rounds));
  std::iota(seeds.begin(), seeds.end(), first);
  std::printf("%s: RANGEFINDER_SEED=%llu, and on for %zu rounds\n", test, static_cast<unsigned long long>(first),
              seeds.size());
  return seeds;
}

/// A number below `limit`, which is not 0.
inline std::uint64_t below(std::mt19937_64& random, std::uint64_t limit) { return random() % limit; }
/// Of any magnitude: as many small numbers as large ones.
inline std::uint64_t any_size(std::mt19937_64& random, unsigned most_bits = 64) {
  const auto bits = static_cast<unsigned>(random() % (most_bits + 1));
  return bits == 0 ? 0 : random() >> (64 - bits);
}

}  // namespace rangefinder::testing
