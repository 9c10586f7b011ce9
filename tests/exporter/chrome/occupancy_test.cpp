// SPDX-License-Identifier: MIT
#include "exporter/chrome/occupancy.hpp"

#include "support/catch.hpp"

#include <limits>

using namespace rangefinder;
using namespace rangefinder::chrome;

namespace {

DeviceInfo h100() {
  DeviceInfo device;
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.warp_size = 32;
  device.max_threads_per_block = 1024;
  device.max_threads_per_multiprocessor = 2048;
  device.max_blocks_per_multiprocessor = 32;
  device.registers_per_block = device.registers_per_multiprocessor = 65536;
  device.shared_bytes_per_block = 49152;
  device.shared_bytes_per_multiprocessor = 233472;
  return device;
}

KernelDetail kernel(std::uint32_t blocks, std::uint32_t threads, std::uint32_t registers, std::uint32_t shared = 0) {
  KernelDetail detail;
  detail.grid[0] = blocks, detail.grid[1] = detail.grid[2] = 1;
  detail.block[0] = threads, detail.block[1] = detail.block[2] = 1;
  detail.registers_per_thread = registers;
  detail.dynamic_shared_bytes = shared;
  return detail;
}

}  // namespace

TEST_CASE("each resource limits how many blocks a multiprocessor holds", "[exporter]") {
  CHECK(resident_blocks(h100(), kernel(1, 256, 32)) == 8);           // 64 warps
  CHECK(resident_blocks(h100(), kernel(1, 32, 16)) == 32);           // block slots
  CHECK(resident_blocks(h100(), kernel(1, 256, 128)) == 2);          // 65536 / (128 x 256)
  CHECK(resident_blocks(h100(), kernel(1, 256, 32, 100'000)) == 2);  // shared memory: 233472 / 101 KiB
  CHECK(resident_blocks(h100(), kernel(1, 1024, 255)) == 0);         // cannot be launched
}

TEST_CASE("occupancy is limited by the grid as well", "[exporter]") {
  CHECK(occupancy_percent(h100(), kernel(132 * 8, 256, 32)) == 100);
  CHECK(occupancy_percent(h100(), kernel(132 * 4, 256, 32)) == 50);
  CHECK(occupancy_percent(h100(), kernel(132 * 800, 256, 32)) == 100);
  CHECK(occupancy_percent(h100(), kernel(1, 256, 32)) == 0);
}

TEST_CASE("devices that are not known well enough, and impossible launches, have no occupancy", "[exporter]") {
  CHECK_FALSE(occupancy_percent({}, kernel(1, 256, 32)));
  DeviceInfo amd = h100();
  amd.warp_size = 64;
  CHECK_FALSE(occupancy_percent(amd, kernel(1, 256, 32)));
  CHECK_FALSE(occupancy_percent(h100(), kernel(1, 0, 32)));
  CHECK_FALSE(occupancy_percent(h100(), kernel(1, 4096, 32)));
  KernelDetail most = kernel(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF);
  most.grid[1] = most.grid[2] = most.block[1] = most.block[2] = 0xFFFFFFFF;
  CHECK(blocks_of(most) == std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(occupancy_percent(h100(), most));
}
