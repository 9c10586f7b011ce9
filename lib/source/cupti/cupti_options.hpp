// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rangefinder::source {

/// What to ask of CUPTI, for one recording.
struct CuptiOptions {
  /// A row for each CUDA runtime and driver call. Off, launches are still noted by callback, but nothing cross-checks
  /// them and no report on API calls is possible.
  bool api_records = true;
  bool sync_records = true;      ///< waits for streams, events and contexts
  bool overhead_records = true;  ///< what CUPTI itself, lazy loading and the driver's compiler cost
  bool memory_records = true;    ///< cudaMalloc, cudaMallocAsync, cudaHostAlloc, ...: address, bytes, kind
  /// Of CUDA graphs: each operation; each launch as a whole; or launches as a whole but for `graph_node_replays` of
  /// every graph, of which each operation is recorded.
  enum class GraphTracing : std::uint8_t { kNodes, kWhole, kAutomatic };
  GraphTracing graph_tracing = GraphTracing::kNodes;
  std::uint32_t graph_node_replays = 10;
  /// When kernels were queued and submitted. Extra work at each launch, and only before CUDA is initialised.
  bool latency_timestamps = false;
  /// Leaves out calls that do no work and come in thousands, such as cudaGetLastError; see callback_ids.cpp.
  bool noisy_api_filter = true;

  /// Activity buffers, all together. Reached: requests are refused and counted. At least two buffers are made.
  std::size_t memory_bytes = std::size_t{64} << 20;
  /// One buffer. CUPTI before 13.1 update 1 loses records in buffers past 2 GiB; 4 MiB holds about 16,000 launches.
  std::size_t buffer_bytes = std::size_t{4} << 20;

  /// How long `start` waits for CUPTI, which may load and patch modules. Past that it will not come back.
  std::chrono::milliseconds start_patience{60'000};
  /// How often complete records are fetched, which is what a crash can lose. Zero: only when `flush` is called.
  std::chrono::milliseconds flush_period{250};
  /// A flush that takes longer counts as hanging.
  std::chrono::milliseconds flush_patience{4000};
  /// How long `stop` waits for work that is still running on the device, within its deadline.
  std::chrono::milliseconds stop_patience{200};

  /// So many launches noted while not one buffer is asked for or delivered, over two flushes: another profiler has
  /// registered its own buffers over ours. More than a device queues (1,024 a stream), so that a slow kernel is no
  /// alarm.
  std::uint64_t watchdog_launches = 16'384;

  /// What becomes of CUPTI while nothing is recorded: between stop and the next start, and in a schedule's pauses.
  enum class Idle : std::uint8_t {
    /// Disable where CUPTI keeps correlation ids right over it (13.1 update 1 and newer): before that every enabling
    /// after the first gives graph launches wrong ones. There gate in pauses; and after stop once there was work of
    /// graphs, else disable.
    kAuto,
    kGate,     ///< kinds and callbacks stay enabled and what they bring is thrown away; costs as much as recording
    kDisable,  ///< kinds and callbacks are disabled: the program runs at full speed
  };
  Idle idle = Idle::kAuto;
};

}  // namespace rangefinder::source
