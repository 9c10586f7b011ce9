// SPDX-License-Identifier: MIT
#include "analysis/occupancy.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::analysis {
namespace {

// The granularities of NVIDIA's occupancy calculator; compute capability 5.0 and later.
constexpr std::uint64_t kWarp = 32;
constexpr std::uint64_t kRegisterUnit = 256;        // registers are given out to a warp in such portions
constexpr std::uint64_t kSystemSharedBytes = 1024;  // of every block, from 8.0 on
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

/// CUDA C++ programming guide, table "Technical Specifications per Compute Capability".
std::uint64_t block_slots(const DeviceInfo& device) noexcept {
  if (device.max_blocks_per_multiprocessor != 0) return device.max_blocks_per_multiprocessor;
  switch (device.compute_major * 10 + device.compute_minor) {
    case 75:
    case 86:
    case 87:
    case 88:
      return 16;
    case 89:
    case 101:
    case 110:
      return 24;
    default:
      return device.compute_major < 5 ? 16 : device.compute_major >= 12 ? 24 : 32;
  }
}

std::uint64_t by_registers(const DeviceInfo& device, std::uint64_t registers, std::uint64_t warps) noexcept {
  if (registers == 0) return kUnlimited;
  // A multiprocessor is made of parts, each with registers of its own; the warps of a block are spread over them. What
  // cannot run on other Pascal devices, which have four, is not let run on those with two.
  const std::uint64_t parts = device.compute_major == 6 && device.compute_minor == 0 ? 2 : 4;
  const std::uint64_t per_warp = round_up(registers * kWarp, kRegisterUnit);
  const auto blocks_with = [&](std::uint64_t count) -> std::uint64_t {
    if (per_warp * round_up(warps, count) > device.registers_per_block) return 0;
    return device.registers_per_multiprocessor / count / per_warp * count / warps;
  };
  return blocks_with(4) == 0 ? 0 : blocks_with(parts);
}

std::uint64_t by_shared_memory(const DeviceInfo& device, const KernelDetail& kernel) noexcept {
  const bool modern = device.compute_major >= 8;
  const std::uint64_t bytes = std::uint64_t{kernel.static_shared_bytes} + kernel.dynamic_shared_bytes;
  const std::uint64_t used = round_up(bytes + (modern ? kSystemSharedBytes : 0), modern ? 128 : 256);
  if (used == 0) return kUnlimited;
  // What the driver divided off has room for a block, or it is no such figure.
  const std::uint64_t all = device.shared_bytes_per_multiprocessor, executed = kernel.shared_executed_bytes;
  return (executed >= used ? std::min(all, executed) : all) / used;
}

/// Blocks that the device can hold at once.
unsigned __int128 blocks_at_once(const DeviceInfo& device, const KernelDetail& kernel,
                                 const Occupancy& occupancy) noexcept {
  const unsigned __int128 blocks = static_cast<unsigned __int128>(occupancy.resident_blocks) * device.multiprocessors;
  const unsigned __int128 of_cluster =
      static_cast<unsigned __int128>(kernel.cluster[0]) * kernel.cluster[1] * kernel.cluster[2];
  if (of_cluster <= 1 || kernel.max_active_clusters == 0) return blocks;
  return std::min(blocks, of_cluster * kernel.max_active_clusters);
}

bool is_known(const DeviceInfo& device) noexcept {
  return device.warp_size == kWarp && device.compute_major != 0 && device.registers_per_block != 0 &&
         device.registers_per_multiprocessor != 0 && device.shared_bytes_per_multiprocessor != 0 &&
         device.max_threads_per_multiprocessor >= kWarp;
}

}  // namespace

std::uint64_t blocks_of(const KernelDetail& kernel) noexcept {
  // Up to 2^31 x 65,535 x 65,535 for a launch that is possible; others must not wrap to something plausible.
  const unsigned __int128 blocks = static_cast<unsigned __int128>(kernel.grid[0]) * kernel.grid[1] * kernel.grid[2];
  return static_cast<std::uint64_t>(std::min<unsigned __int128>(blocks, kUnlimited));
}

std::uint64_t threads_of(const KernelDetail& kernel) noexcept {
  const unsigned __int128 threads = static_cast<unsigned __int128>(kernel.block[0]) * kernel.block[1] * kernel.block[2];
  return static_cast<std::uint64_t>(std::min<unsigned __int128>(threads, kUnlimited));
}

std::string_view limit_text(OccupancyLimit limit) noexcept {
  switch (limit) {
    case OccupancyLimit::kWarps:
      return "warps";
    case OccupancyLimit::kBlocks:
      return "blocks";
    case OccupancyLimit::kRegisters:
      return "registers";
    case OccupancyLimit::kSharedMemory:
      return "shared memory";
  }
  return "";
}

std::optional<Occupancy> occupancy_of(const DeviceInfo& device, const KernelDetail& kernel) noexcept {
  const std::uint64_t threads = threads_of(kernel);
  if (!is_known(device) || threads == 0 || threads > device.max_threads_per_multiprocessor) return std::nullopt;
  Occupancy out;
  const std::uint64_t warps = round_up(threads, kWarp) / kWarp;
  out.most_warps = device.max_threads_per_multiprocessor / kWarp;
  const std::uint64_t allowed[] = {out.most_warps / warps, block_slots(device),
                                   by_registers(device, kernel.registers_per_thread, warps),
                                   by_shared_memory(device, kernel)};
  const auto* const least = std::min_element(std::begin(allowed), std::end(allowed));
  out.resident_blocks = *least;
  out.limit = static_cast<OccupancyLimit>(least - std::begin(allowed));
  out.resident_warps = out.resident_blocks * warps;
  return out;
}

std::optional<std::uint64_t> blocks_at_once(const DeviceInfo& device, const KernelDetail& kernel) noexcept {
  const std::optional<Occupancy> occupancy = occupancy_of(device, kernel);
  if (!occupancy || occupancy->resident_blocks == 0 || device.multiprocessors == 0) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::min<unsigned __int128>(blocks_at_once(device, kernel, *occupancy), kUnlimited));
}

std::optional<std::int64_t> waves_of(const DeviceInfo& device, const KernelDetail& kernel) noexcept {
  const std::optional<std::uint64_t> most = blocks_at_once(device, kernel);
  if (!most) return std::nullopt;
  const unsigned __int128 at_once = *most;
  const unsigned __int128 waves = (static_cast<unsigned __int128>(blocks_of(kernel)) * 200 + at_once) / (at_once * 2);
  return static_cast<std::int64_t>(std::min<unsigned __int128>(waves, std::numeric_limits<std::int64_t>::max()));
}

std::optional<std::uint32_t> achieved_percent(const DeviceInfo& device, const KernelDetail& kernel) noexcept {
  const std::optional<Occupancy> occupancy = occupancy_of(device, kernel);
  if (!occupancy || device.multiprocessors == 0) return std::nullopt;
  // Over all multiprocessors, so that a grid that does not fill them stays a whole number.
  const unsigned __int128 most = blocks_at_once(device, kernel, *occupancy);
  const unsigned __int128 blocks = std::min<unsigned __int128>(most, blocks_of(kernel));
  const unsigned __int128 capacity =
      static_cast<unsigned __int128>(device.max_threads_per_multiprocessor) * device.multiprocessors;
  // To the nearest percent, halves down: what Kineto's single precision makes of them.
  return static_cast<std::uint32_t>((blocks * threads_of(kernel) * 200 + capacity - 1) / (2 * capacity));
}

}  // namespace rangefinder::analysis
