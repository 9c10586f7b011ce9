// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What the program that is killed and the test that kills it agree on.
namespace rangefinder::testing {

inline constexpr std::size_t kPublishers = 2;

// By the remainder of the seed divided by 4: what the program does beside recording; a slow one only with a ring.
inline constexpr std::uint64_t kFlushingPublisher = 1, kSteppingPublisher = 2, kSlowPublisher = 3;

inline constexpr unsigned kForkingThreads = 8;
#ifdef RANGEFINDER_THREAD_SANITIZER
inline constexpr unsigned kForksOfEach = 8;  // each copies the sanitizer's memory
#else
inline constexpr unsigned kForksOfEach = 125;
#endif

/// In memory that both map. A thread stores the number of its ranges that have ended after each of them.
struct Published {
  std::atomic<std::uint32_t> started;
  alignas(64) std::atomic<std::uint64_t> ended[kPublishers];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The ranges of one thread, always the same for a seed: what the program does, and what must be read back of it.
class RangeSequence {
 public:
  explicit RangeSequence(std::uint64_t seed) noexcept : state_(seed * 2 + 1) {}

  struct Action {
    bool begins;     ///< else the innermost open range ends
    unsigned name;   ///< of kNames
    bool has_value;  ///< its number, in order of begin
  };
  Action next() noexcept {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<unsigned>(state_ >> 40);
    const bool begins = depth_ == 0 || (depth_ < 30 && bits % 2 == 0);
    depth_ += begins ? 1 : -1;
    return {begins, bits / 2 % kNames, bits / 16 % 16 == 0};
  }

  static constexpr unsigned kNames = 8;
  static std::string name(unsigned which) { return "range." + std::to_string(which); }

 private:
  std::uint64_t state_;
  int depth_ = 0;
};

}  // namespace rangefinder::testing
