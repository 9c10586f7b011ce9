// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>

namespace rangefinder::chrome {

/// Blocks of the launch, and of one block the threads.
std::uint64_t blocks_of(const KernelDetail& kernel) noexcept;
std::uint64_t threads_of(const KernelDetail& kernel) noexcept;

/// How many blocks of a kernel one multiprocessor can hold at a time: the least that block slots, warps, registers and
/// shared memory allow. Nothing where the device is not known well enough, or is not NVIDIA's.
std::optional<std::uint64_t> resident_blocks(const DeviceInfo& device, const KernelDetail& kernel) noexcept;

/// Threads resident on the average multiprocessor, in percent of what it could hold: Kineto's "est. achieved occupancy
/// %". The grid limits it as well as the multiprocessor does.
///
/// Kineto itself says 0 for every kernel with more than 48 KiB of shared memory, because it asks CUDA's calculator
/// without the limit that such kernels opt into.
std::optional<std::uint32_t> occupancy_percent(const DeviceInfo& device, const KernelDetail& kernel) noexcept;

}  // namespace rangefinder::chrome
