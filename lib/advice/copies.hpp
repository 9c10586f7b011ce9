// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/waits.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::advice {

/// CUpti_ActivityMemcpyKind.
enum class CopyDirection : std::uint8_t { kOther, kToDevice, kToHost };

/// Nothing known: kOther. Of memcpys.
CopyDirection direction_of(const Timeline& timeline, ActivityIndex copy) noexcept;
/// Whether the host's end of a copy to or from the host is in memory that is not pinned.
bool is_pageable(const Timeline& timeline, ActivityIndex copy) noexcept;
/// Whether any copy tells what memory it was from and to.
bool tells_memory(const Timeline& timeline) noexcept;

/// Calls like cudaMemcpyAsync that held the host until their copy was done, because its memory is not pinned. CUDA
/// writes no synchronisation record of them, and their names say the opposite.
std::vector<analysis::Wait> waits_for_pageable_copies(const Timeline& timeline);

/// CUDA stages copies of up to 64 KiB from pageable memory and returns (CUDA runtime API, "API synchronization
/// behavior"): below, pinned memory gains nothing.
inline constexpr std::uint64_t kStagedBytes = std::uint64_t{64} << 10;

}  // namespace rangefinder::advice
