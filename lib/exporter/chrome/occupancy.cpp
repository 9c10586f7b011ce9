// SPDX-License-Identifier: MIT
#include "exporter/chrome/occupancy.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

// The granularities of NVIDIA's occupancy calculator; compute capability 5.0 and later.
constexpr std::uint64_t kWarp = 32;
constexpr std::uint64_t kRegisterUnit = 256;        // registers are given out to a warp in such portions
constexpr std::uint64_t kSystemSharedBytes = 1024;  // of every block, from 8.0 on

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
      return 16;
    case 89:
      return 24;
    default:
      return device.compute_major < 5 ? 16 : device.compute_major >= 12 ? 24 : 32;
  }
}

std::uint64_t by_registers(const DeviceInfo& device, std::uint64_t registers, std::uint64_t warps) noexcept {
  // A multiprocessor is made of parts, each with registers of its own; the warps of a block are spread over them.
  const std::uint64_t parts = device.compute_major == 6 && device.compute_minor == 0 ? 2 : 4;
  const std::uint64_t per_warp = round_up(registers * kWarp, kRegisterUnit);
  if (per_warp * round_up(warps, parts) > device.registers_per_block) return 0;
  return device.registers_per_multiprocessor / parts / per_warp * parts / warps;
}

std::uint64_t by_shared_memory(const DeviceInfo& device, std::uint64_t bytes, std::uint64_t otherwise) noexcept {
  const bool modern = device.compute_major >= 8;
  const std::uint64_t used = round_up(bytes + (modern ? kSystemSharedBytes : 0), modern ? 128 : 256);
  return used == 0 ? otherwise : device.shared_bytes_per_multiprocessor / used;
}

}  // namespace

std::uint64_t blocks_of(const KernelDetail& kernel) noexcept {
  // Up to 2^31 x 65,535 x 65,535 for a launch that is possible; others must not wrap to something plausible.
  const unsigned __int128 blocks = static_cast<unsigned __int128>(kernel.grid[0]) * kernel.grid[1] * kernel.grid[2];
  return static_cast<std::uint64_t>(std::min<unsigned __int128>(blocks, ~std::uint64_t{0}));
}

std::uint64_t threads_of(const KernelDetail& kernel) noexcept {
  const unsigned __int128 threads = static_cast<unsigned __int128>(kernel.block[0]) * kernel.block[1] * kernel.block[2];
  return static_cast<std::uint64_t>(std::min<unsigned __int128>(threads, ~std::uint64_t{0}));
}

std::optional<std::uint64_t> resident_blocks(const DeviceInfo& device, const KernelDetail& kernel) noexcept {
  const std::uint64_t threads = threads_of(kernel);
  const bool known = device.warp_size == kWarp && device.compute_major != 0 && device.registers_per_block != 0 &&
                     device.registers_per_multiprocessor != 0 && device.shared_bytes_per_multiprocessor != 0 &&
                     device.max_threads_per_multiprocessor != 0;
  if (!known || threads == 0 || threads > device.max_threads_per_multiprocessor) return std::nullopt;
  const std::uint64_t warps = round_up(threads, kWarp) / kWarp;
  std::uint64_t blocks = std::min(block_slots(device), device.max_threads_per_multiprocessor / kWarp / warps);
  if (kernel.registers_per_thread != 0)
    blocks = std::min(blocks, by_registers(device, kernel.registers_per_thread, warps));
  const std::uint64_t shared = std::uint64_t{kernel.static_shared_bytes} + kernel.dynamic_shared_bytes;
  return std::min(blocks, by_shared_memory(device, shared, blocks));
}

std::optional<std::uint32_t> occupancy_percent(const DeviceInfo& device, const KernelDetail& kernel) noexcept {
  const std::optional<std::uint64_t> resident = resident_blocks(device, kernel);
  if (!resident || device.multiprocessors == 0) return std::nullopt;
  // Over all multiprocessors, so that a grid that does not fill them stays a whole number.
  const unsigned __int128 most = static_cast<unsigned __int128>(*resident) * device.multiprocessors;
  const unsigned __int128 blocks = std::min<unsigned __int128>(most, blocks_of(kernel));
  const unsigned __int128 capacity =
      static_cast<unsigned __int128>(device.max_threads_per_multiprocessor) * device.multiprocessors;
  // To the nearest percent, halves down: what Kineto's single precision makes of them.
  return static_cast<std::uint32_t>((blocks * threads_of(kernel) * 200 + capacity - 1) / (2 * capacity));
}

}  // namespace rangefinder::chrome
