// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace rangefinder::analysis {

/// Blocks of the launch, and of one block the threads.
std::uint64_t blocks_of(const KernelDetail& kernel) noexcept;
std::uint64_t threads_of(const KernelDetail& kernel) noexcept;

/// What keeps a multiprocessor from holding more blocks of a kernel.
enum class OccupancyLimit : std::uint8_t { kWarps, kBlocks, kRegisters, kSharedMemory };
std::string_view limit_text(OccupancyLimit limit) noexcept;

/// How full a kernel can make a multiprocessor, by its launch configuration: what NVIDIA's occupancy calculator says.
struct Occupancy {
  std::uint64_t resident_blocks = 0;  ///< that one multiprocessor can hold at a time; 0: it cannot be launched
  OccupancyLimit limit = OccupancyLimit::kWarps;  ///< where several allow equally few blocks, the first of the list
  std::uint64_t resident_warps = 0;
  std::uint64_t most_warps = 0;  ///< that a multiprocessor can hold

  /// Resident warps of those that there is room for, in tenths of a percent, rounded to nearest.
  std::int64_t permille() const noexcept {
    return static_cast<std::int64_t>((resident_warps * 2000 + most_warps) / (most_warps * 2));
  }
};

/// Nothing where the device is not known well enough or is not NVIDIA's, and for blocks that no device takes.
///
/// Shared memory is what the driver divided off for the launch, where the input says. What no input tells is left out:
/// named barriers. Compute capability 5.0 and later.
std::optional<Occupancy> occupancy_of(const DeviceInfo& device, const KernelDetail& kernel) noexcept;

/// Blocks that the device can hold at a time; nothing where that is not known. Clusters can leave multiprocessors free:
/// as many fit as the driver says, where the input has that.
std::optional<std::uint64_t> blocks_at_once(const DeviceInfo& device, const KernelDetail& kernel) noexcept;

/// How often all multiprocessors have to be filled for the whole grid, in hundredths, rounded to nearest; nothing where
/// blocks_at_once is not known.
std::optional<std::int64_t> waves_of(const DeviceInfo& device, const KernelDetail& kernel) noexcept;

/// Threads resident on the average multiprocessor, in percent of what it could hold: Kineto's "est. achieved occupancy
/// %". The grid limits it as well as the multiprocessor does.
///
/// Kineto itself says 0 for every kernel with more than 48 KiB of shared memory, because it asks CUDA's calculator
/// without the limit that such kernels opt into.
std::optional<std::uint32_t> achieved_percent(const DeviceInfo& device, const KernelDetail& kernel) noexcept;

}  // namespace rangefinder::analysis
