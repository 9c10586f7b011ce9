// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <cstdint>
#include <optional>
#include <string>

// Where things happened: machines, processes and threads; devices and their streams.
namespace rangefinder {

/// A machine of a job. All times are on the clock of the first one.
struct HostInfo {
  std::string name;
  /// How far its clock was found behind the first one's, beyond the difference of their wall clocks: added to its times
  /// in the middle of the recording; it may drift around that.
  std::int64_t shift_ns = 0;
  /// Most that its times can be off against the first one's; kNoTime where only wall clocks tell.
  std::int64_t error_ns = kNoTime;
  /// Collectives of both that were compared.
  std::uint64_t collectives = 0;
};

struct ProcessInfo {
  std::int64_t pid = 0;
  std::string name;
  std::string host;
  std::uint32_t clock = 0;  ///< row of Timeline::hosts whose clock it has; 0 where that is empty
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  /// When its recording, or what a flight recorder still holds of it, began; where the input says.
  std::int64_t start_ns = kNoTime;
  /// When it was last seen to run, where the input says: its last record may be much older. A program that was killed
  /// ended within SessionOptions::flush_period of it.
  std::int64_t seen_ns = kNoTime;
  bool flight_recorder = false;  ///< a dump of one: what came earlier is missing on purpose
};

struct ThreadInfo {
  ProcessIndex process{0};
  std::int64_t tid = 0;
  std::string name;
  std::optional<std::int32_t> priority;  ///< where the input says
  /// LibTorch's autograd engine runs its nodes here, and nothing else. Between two nodes it adds up gradients, so a
  /// node owns what is launched until the next one begins or the one around it ends.
  bool is_engine = false;
};

/// 0 where unknown.
struct DeviceInfo {
  ProcessIndex process{0};
  std::uint32_t id = 0;
  std::string name;
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t warp_size = 0;
  std::uint32_t max_threads_per_block = 0;
  std::uint32_t max_threads_per_multiprocessor = 0;
  std::uint32_t max_blocks_per_multiprocessor = 0;
  std::uint32_t registers_per_block = 0;
  std::uint32_t registers_per_multiprocessor = 0;
  std::uint64_t shared_bytes_per_block = 0;
  std::uint64_t shared_bytes_per_block_optin = 0;
  std::uint64_t shared_bytes_per_multiprocessor = 0;
  std::string board;  ///< NVML's UUID of the board whose sensors were read; empty: not known
  bool mig = false;   ///< the board is divided into instances (MIG), of which this is one
};

/// A stream id means something only within its context, a context only within its process.
struct StreamInfo {
  DeviceIndex device{0};
  std::uint32_t context = 0;
  std::int64_t id = 0;
  std::uint32_t green_context = 0;  ///< the share of a device that the stream is confined to; 0: none
};

}  // namespace rangefinder
