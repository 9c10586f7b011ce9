// SPDX-License-Identifier: MIT
#include "analysis/occupancy.hpp"

#include "support/catch.hpp"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#endif

#include <climits>
#include <limits>

using namespace rangefinder;
using namespace rangefinder::analysis;

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

TEST_CASE("each resource limits how many blocks a multiprocessor holds, and is named", "[analysis]") {
  const auto check = [](const KernelDetail& detail, std::uint64_t blocks, OccupancyLimit limit, std::int64_t permille) {
    const auto occupancy = occupancy_of(h100(), detail);
    REQUIRE(occupancy);
    CHECK(occupancy->resident_blocks == blocks);
    CHECK(occupancy->limit == limit);
    CHECK(occupancy->permille() == permille);
  };
  check(kernel(1, 256, 32), 8, OccupancyLimit::kWarps, 1000);                 // 64 warps
  check(kernel(1, 32, 16), 32, OccupancyLimit::kBlocks, 500);                 // block slots
  check(kernel(1, 256, 128), 2, OccupancyLimit::kRegisters, 250);             // 65536 / (128 x 256)
  check(kernel(1, 256, 32, 100'000), 2, OccupancyLimit::kSharedMemory, 250);  // 233472 / 101 KiB
  check(kernel(1, 1024, 255), 0, OccupancyLimit::kRegisters, 0);              // cannot be launched
  check(kernel(1, 1024, 32, 232'448), 1, OccupancyLimit::kSharedMemory, 500);
}

TEST_CASE("waves tell how often the device is filled", "[analysis]") {
  CHECK(waves_of(h100(), kernel(132 * 8, 256, 32)) == 100);
  CHECK(waves_of(h100(), kernel(132 * 8 + 1, 256, 32)) == 100);
  CHECK(waves_of(h100(), kernel(132 * 12, 256, 32)) == 150);
  CHECK(waves_of(h100(), kernel(1, 256, 32)) == 0);
  CHECK_FALSE(waves_of(h100(), kernel(1, 1024, 255)));
  CHECK_FALSE(waves_of({}, kernel(1, 256, 32)));
}

TEST_CASE("shared memory that the driver divided off limits how many blocks there are", "[analysis]") {
  KernelDetail carved = kernel(1, 256, 32, 20'000);
  CHECK(occupancy_of(h100(), carved)->resident_blocks == 8);
  carved.shared_executed_bytes = 65'536;  // three blocks of 20 KiB and the system's 1 KiB
  CHECK(occupancy_of(h100(), carved)->resident_blocks == 3);
  CHECK(occupancy_of(h100(), carved)->limit == OccupancyLimit::kSharedMemory);
  carved.shared_executed_bytes = 1 << 20;  // more than the device has
  CHECK(occupancy_of(h100(), carved)->resident_blocks == 8);
  carved.shared_executed_bytes = 1;  // no room for the block that ran: it is something else
  CHECK(occupancy_of(h100(), carved)->resident_blocks == 8);
}

TEST_CASE("clusters fill a device as far as the driver says", "[analysis]") {
  KernelDetail clustered = kernel(132 * 8, 256, 32);
  clustered.cluster[0] = 16, clustered.cluster[1] = clustered.cluster[2] = 1;
  CHECK(waves_of(h100(), clustered) == 100);
  clustered.max_active_clusters = 33;  // half of what the multiprocessors could hold one by one
  CHECK(waves_of(h100(), clustered) == 200);
  CHECK(achieved_percent(h100(), clustered) == 50);
  clustered.cluster[0] = 1;  // of a launch without clusters it says nothing
  CHECK(waves_of(h100(), clustered) == 100);
}

TEST_CASE("devices that do not tell their block slots are known by their architecture", "[analysis]") {
  DeviceInfo device = h100();
  device.max_blocks_per_multiprocessor = 0;
  const auto slots = [&](std::uint32_t major, std::uint32_t minor) {
    device.compute_major = major;
    device.compute_minor = minor;
    return occupancy_of(device, kernel(1, 32, 16))->resident_blocks;
  };
  CHECK(slots(8, 0) == 32);
  CHECK(slots(8, 6) == 16);
  CHECK(slots(8, 8) == 16);
  CHECK(slots(8, 9) == 24);
}

TEST_CASE("occupancy is limited by the grid as well", "[analysis]") {
  CHECK(achieved_percent(h100(), kernel(132 * 8, 256, 32)) == 100);
  CHECK(achieved_percent(h100(), kernel(132 * 4, 256, 32)) == 50);
  CHECK(achieved_percent(h100(), kernel(132 * 800, 256, 32)) == 100);
  CHECK(achieved_percent(h100(), kernel(1, 256, 32)) == 0);
}

TEST_CASE("devices that are not known well enough, and impossible launches, have no occupancy", "[analysis]") {
  CHECK_FALSE(achieved_percent({}, kernel(1, 256, 32)));
  DeviceInfo amd = h100();
  amd.warp_size = 64;
  CHECK_FALSE(achieved_percent(amd, kernel(1, 256, 32)));
  CHECK_FALSE(achieved_percent(h100(), kernel(1, 0, 32)));
  CHECK_FALSE(achieved_percent(h100(), kernel(1, 4096, 32)));
  KernelDetail most = kernel(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF);
  most.grid[1] = most.grid[2] = most.block[1] = most.block[2] = 0xFFFFFFFF;
  CHECK(blocks_of(most) == std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(achieved_percent(h100(), most));
}

namespace {

struct Architecture {
  std::uint32_t major, minor, threads;
  std::uint64_t shared, shared_of_block;  // of a multiprocessor; the most that one block may ask for
};

// The CUDA C++ programming guide's table of compute capabilities. All have 65,536 registers, for a block too.
constexpr Architecture kArchitectures[] = {
    {5, 2, 2048, 98304, 49152},    {6, 0, 2048, 65536, 49152},    {6, 1, 2048, 98304, 49152},
    {7, 0, 2048, 98304, 98304},    {7, 5, 1024, 65536, 65536},    {8, 0, 2048, 167936, 166912},
    {8, 6, 1536, 102400, 101376},  {8, 7, 1536, 167936, 166912},  {8, 9, 1536, 102400, 101376},
    {9, 0, 2048, 233472, 232448},  {10, 0, 2048, 233472, 232448}, {11, 0, 1536, 233472, 232448},
    {12, 0, 1536, 102400, 101376},
};

DeviceInfo device_of(const Architecture& architecture) {
  DeviceInfo device = h100();
  device.compute_major = architecture.major;
  device.compute_minor = architecture.minor;
  device.max_threads_per_multiprocessor = architecture.threads;
  device.max_blocks_per_multiprocessor = 0;  // the table's
  device.shared_bytes_per_multiprocessor = architecture.shared;
  return device;
}

}  // namespace

#if __has_include(<cuda_occupancy.h>)
namespace {

cudaOccResult calculators_answer(const Architecture& architecture, int threads, int registers, std::size_t shared) {
  cudaOccDeviceProp properties;
  properties.computeMajor = static_cast<int>(architecture.major);
  properties.computeMinor = static_cast<int>(architecture.minor);
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiprocessor = static_cast<int>(architecture.threads);
  properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
  properties.warpSize = 32;
  properties.sharedMemPerBlock = 49152;
  properties.sharedMemPerMultiprocessor = architecture.shared;
  properties.numSms = 132;
  properties.sharedMemPerBlockOptin = architecture.shared_of_block;
  properties.reservedSharedMemPerBlock = architecture.major >= 8 ? 1024 : 0;
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = INT_MAX;
  attributes.numRegs = registers;
  attributes.sharedSizeBytes = 0;
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = shared;
  attributes.numBlockBarriers = 0;
  const cudaOccDeviceState state;
  cudaOccResult result;
  REQUIRE(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads, shared) ==
          CUDA_OCC_SUCCESS);
  return result;
}

unsigned bit_of(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::kWarps:
      return OCC_LIMIT_WARPS;
    case OccupancyLimit::kBlocks:
      return OCC_LIMIT_BLOCKS;
    case OccupancyLimit::kRegisters:
      return OCC_LIMIT_REGISTERS;
    case OccupancyLimit::kSharedMemory:
      return OCC_LIMIT_SHARED_MEMORY;
  }
  return 0;
}

}  // namespace

TEST_CASE("occupancy and its limit are those of NVIDIA's calculator", "[analysis]") {
  std::size_t compared = 0;
  for (const Architecture& architecture : kArchitectures)
    for (std::uint32_t threads = 1; threads <= 1024; threads += threads < 128 ? 13 : 61)
      for (std::uint32_t registers = 0; registers <= 255; registers += 15)
        for (std::uint64_t shared = 0; shared <= architecture.shared_of_block; shared += 4093) {
          const auto bytes = static_cast<std::uint32_t>(shared);
          const cudaOccResult expected =
              calculators_answer(architecture, static_cast<int>(threads), static_cast<int>(registers), bytes);
          const auto occupancy = occupancy_of(device_of(architecture), kernel(1, threads, registers, bytes));
          REQUIRE(occupancy);
          const bool same =
              occupancy->resident_blocks == static_cast<std::uint64_t>(expected.activeBlocksPerMultiprocessor) &&
              (expected.limitingFactors & bit_of(occupancy->limit)) != 0;
          if (!same) {
            CAPTURE(architecture.major, architecture.minor, threads, registers, shared);
            CHECK(occupancy->resident_blocks == static_cast<std::uint64_t>(expected.activeBlocksPerMultiprocessor));
            REQUIRE((expected.limitingFactors & bit_of(occupancy->limit)) != 0);
          }
          ++compared;
        }
  CHECK(compared > 50'000);
}
#else
TEST_CASE("occupancy and its limit are those of NVIDIA's calculator", "[analysis]") {
  RANGEFINDER_SKIP("no cuda_occupancy.h at hand");
}
#endif

TEST_CASE("a device's own number of block slots counts before the table's", "[analysis]") {
  DeviceInfo device = device_of(kArchitectures[0]);
  CHECK(occupancy_of(device, kernel(1, 32, 16))->resident_blocks == 32);
  device.max_blocks_per_multiprocessor = 5;
  CHECK(occupancy_of(device, kernel(1, 32, 16))->resident_blocks == 5);
  CHECK(occupancy_of(device, kernel(1, 32, 16))->limit == OccupancyLimit::kBlocks);
}
