// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/ticks.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace bench {

inline constexpr const char* kFloor = "floor/two clock reads + 24 B";

/// What no recorder of ranges can beat: two clock reads and one store of 24 bytes into memory that stays in the cache.
class TwoReadsAndStore {
 public:
  explicit TwoReadsAndStore(const char* name) : name_(name) {}
  ~TwoReadsAndStore() { kept_[at_++ & (kKept - 1)] = {begin_, rangefinder::detail::read_ticks(), name_}; }
  TwoReadsAndStore(const TwoReadsAndStore&) = delete;
  TwoReadsAndStore& operator=(const TwoReadsAndStore&) = delete;

  /// In each thread, before its first.
  static void touch() {
    kept_ = static_cast<Record*>(std::aligned_alloc(4096, kKept * sizeof(Record)));
    std::memset(static_cast<void*>(kept_), 1, kKept * sizeof(Record));
  }

 private:
  struct Record {
    std::uint64_t begin, end;
    const char* name;
  };
  static constexpr std::size_t kKept = 1 << 16;
  static inline thread_local Record* kept_ = nullptr;
  static inline thread_local std::uint64_t at_ = 0;

  const char* name_;
  std::uint64_t begin_ = rangefinder::detail::read_ticks();
};

}  // namespace bench
