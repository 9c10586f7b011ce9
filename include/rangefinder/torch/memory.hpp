// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

// Component `torch`: link rangefinder::torch.
namespace rangefinder::torch {

struct MemoryRecordingOptions {
  bool host = true;  ///< tensors in the memory of the host, by LibTorch's CPU allocator
  bool cuda = true;  ///< tensors on devices, by its caching allocator. Initialises CUDA where there is a device
  /// Events that LibTorch itself keeps, with their C++ stacks, for memory_snapshot to show how memory came to be what
  /// it is; 0: none, a snapshot shows the blocks alone. Costs a stack an event.
  std::size_t history_events = 0;
  /// Where a snapshot is written when a device runs out of memory; empty: nowhere. The last failure wins.
  std::string snapshot_when_out_of_memory;
  /// What count_device_memory writes, and host_memory() as `host allocated bytes`, `host peak bytes` and `host
  /// untracked allocations`: at each step of a session while it records, and where this recording ends.
  bool statistics_at_steps = true;
};

/// Records what LibTorch's allocators give and take back while it lives and a session records, on all threads, in and
/// outside of operators: Timeline::memory, `rangefinder report --view memory`, [memory] events of the Chrome export.
///
///   rangefinder::Session session;
///   rangefinder::torch::MemoryRecording memory;
///
/// Host:    the first recording wraps LibTorch's allocator; the wrapper stays for the life of the process
///          and passes everything on; torch.profiler's profile_memory works beside it. Bytes are those asked for;
///          totals are of blocks that were allocated while a recording lived. Not seen: blocks from before, pinned
///          memory, tensors on foreign memory (at::from_blob), allocators that the program sets later.
/// CUDA:    the caching allocator's own account of its blocks and segments, by stream and private pool; bytes are those
///          asked for, totals begin with what the device holds. Not seen: memory that is not the caching allocator's.
/// Errors:  none; cuda_state() says what of the devices is recorded. Events that find no room are dropped and counted
/// in
///          CaptureHealth::dropped_memory_events.
/// Threads: make and destroy it while no operator runs; several may live at once, they record once.
/// Cost:    an event for each block that comes or goes: on the host 16 bytes of the recording, up to 48 where sizes are
///          new or other threads allocated since, and two updates of totals that all threads share; up to 112 bytes on
///          devices. Statistics at steps: 3 counters of the host and 11 a device, for which session.step() takes the
///          caching allocator's locks. When none lives: a call and a load for each block.
class RANGEFINDER_EXPORT MemoryRecording {
 public:
  explicit MemoryRecording(const MemoryRecordingOptions& options = {});
  ~MemoryRecording();
  MemoryRecording(const MemoryRecording&) = delete;
  MemoryRecording& operator=(const MemoryRecording&) = delete;

  /// "recorded", "off" or the reason why nothing of the devices is.
  const std::string& cuda_state() const noexcept { return cuda_state_; }
  /// The same of the host.
  const std::string& host_state() const noexcept { return host_state_; }

 private:
  MemoryRecordingOptions options_;
  std::string host_state_;
  std::string cuda_state_;
};

/// Blocks of the host that were allocated while a MemoryRecording with `host` lived.
struct HostMemory {
  std::uint64_t allocated_bytes = 0;  ///< that are still there
  std::uint64_t peak_bytes = 0;       ///< the most since recording began, or since reset_host_memory_peak()
  std::uint64_t allocations = 0;      ///< ever
  std::uint64_t untracked = 0;        ///< allocations that these figures lost again: no memory to remember them
};

/// Exact at any time, with or without a session.
///
///   rangefinder::torch::MemoryRecording memory{{.cuda = false}};
///   loss.backward();
///   std::cout << rangefinder::torch::host_memory().peak_bytes;
///
/// Threads: any.
RANGEFINDER_EXPORT HostMemory host_memory() noexcept;
/// The peak counts from what is allocated now.
RANGEFINDER_EXPORT void reset_host_memory_peak() noexcept;

/// Writes the caching allocator's statistics of each device as counters, `cuda:0 reserved bytes`: bytes allocated,
/// reserved, requested, active and in inactive splits; segments, allocations that had to be tried again, requests that
/// failed; external fragmentation (inactive splits of what is reserved), internal fragmentation (what blocks are larger
/// than asked for) and efficiency (what of the reserved is allocated) as ratios of 0 to 1. A MemoryRecording does so at
/// each step; in between, or without one:
///
///   rangefinder::torch::count_device_memory();
///
/// Errors:  kUnsupported without a CUDA device or where LibTorch was built without CUDA.
/// Threads: any; it takes the allocator's locks.
/// Cost:    11 counters a device; nothing while no session records.
RANGEFINDER_EXPORT Status count_device_memory();

/// Writes what the caching allocator holds on all devices as PyTorch's memory viewer (pytorch.org/memory_viz,
/// `python -m torch.cuda._memory_viz`) opens it: a pickle.
///
/// Errors:  kUnsupported without a CUDA device or where LibTorch was built without CUDA; kIo with path and reason.
/// Threads: any; it takes the allocator's locks.
RANGEFINDER_EXPORT Status memory_snapshot(const std::string& path);

}  // namespace rangefinder::torch
