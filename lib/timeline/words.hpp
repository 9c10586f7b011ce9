// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>
#include <rangefinder/types.hpp>

#include <array>
#include <cstddef>
#include <string_view>

// What tables for programs (SQL, Arrow, Parquet) call the enumerators of a timeline. Indexed by their values.
namespace rangefinder {

inline constexpr std::array<std::string_view, 3> kInputFormatWords{"capture", "kineto", "nsight"};
inline constexpr std::array<std::string_view, 4> kActivityKindWords{"kernel", "memcpy", "memset", "graph"};
inline constexpr std::array<std::string_view, 3> kCallDomainWords{"runtime", "driver", "internal"};
inline constexpr std::array<std::string_view, 4> kRangeKindWords{"annotation", "operator", "python_function", "other"};
inline constexpr std::array<std::string_view, 7> kMemoryActionWords{
    "allocate", "free", "segment_allocate", "segment_free", "segment_map", "segment_unmap", "out_of_memory"};
inline constexpr std::array<std::string_view, 12> kCollectiveKindWords{
    "other",  "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
    "gather", "scatter",    "all_to_all", "send",           "receive",   "barrier"};
inline constexpr std::array<std::string_view, 3> kCollectiveSourceWords{"", "c10d", "nccl"};

/// "unknown" for a value without a word.
template <typename Enumerator, std::size_t N>
constexpr std::string_view word_in(const std::array<std::string_view, N>& words, Enumerator value) noexcept {
  const auto at = static_cast<std::size_t>(value);
  return at < N ? words[at] : "unknown";
}

constexpr std::string_view word_of(InputFormat format) noexcept { return word_in(kInputFormatWords, format); }
constexpr std::string_view word_of(ActivityKind kind) noexcept { return word_in(kActivityKindWords, kind); }
constexpr std::string_view word_of(CallDomain domain) noexcept { return word_in(kCallDomainWords, domain); }
constexpr std::string_view word_of(RangeKind kind) noexcept { return word_in(kRangeKindWords, kind); }
constexpr std::string_view word_of(MemoryAction action) noexcept { return word_in(kMemoryActionWords, action); }
constexpr std::string_view word_of(CollectiveKind kind) noexcept { return word_in(kCollectiveKindWords, kind); }
constexpr std::string_view word_of(CollectiveSource source) noexcept { return word_in(kCollectiveSourceWords, source); }

}  // namespace rangefinder
