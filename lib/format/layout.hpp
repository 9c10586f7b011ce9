// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/record.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

// Fixed structures of the two files of a recording. docs/reference/capture-format.md describes them; a change here is a
// change there and of the version.
namespace rangefinder::format {

inline constexpr std::uint16_t kMajorVersion = 1;  // a reader refuses a newer one
inline constexpr std::uint16_t kMinorVersion = 0;  // a reader skips what a newer one added

inline constexpr std::array<char, 8> kFileMagic = {'R', 'F', 'C', 'A', 'P', '\r', '\n', '\x1a'};
inline constexpr std::array<char, 8> kLiveMagic = {'R', 'F', 'L', 'I', 'V', 'E', '\r', '\n'};
inline constexpr std::uint32_t kChunkMagic = 0x4B434652;  // "RFCK"
inline constexpr std::uint16_t kChunkVersion = 0;         // of every kind, so far

using CaptureId = std::array<std::uint8_t, 16>;

enum FileFlags : std::uint64_t {
  kFlagSimulated = 1,  ///< device records come from a scripted simulation, not from a GPU
  kFlagRing = 2,       ///< dumped from a flight recorder: the beginning is missing on purpose
  kFlagLive = 4,       ///< recorded with a live file, which belongs with it until the capture has its end
};

struct FileHeader {
  std::array<char, 8> magic;
  std::uint16_t major;
  std::uint16_t minor;
  std::uint32_t header_bytes;
  CaptureId capture_id;
  std::uint32_t pid;
  std::uint8_t clock_kind;  // clock::ClockKind
  std::uint8_t reserved0[3];
  std::uint64_t ticks_per_second;
  std::uint64_t start_ticks;
  std::int64_t start_monotonic_ns;
  std::int64_t start_realtime_ns;
  std::uint64_t flags;
  std::uint64_t record_id;  // of the `rangefinder record` that it is of; 0: none
  // kFlagRing: what was over by then is here only since a CUDA graph was captured in it; 0: by start_ticks.
  std::uint64_t held_since_ticks;
  std::uint8_t reserved1[24];
  std::uint64_t checksum;  // XXH3 of everything before it
};
static_assert(sizeof(FileHeader) == 128);

/// What was over by then is no part of the recording.
constexpr std::uint64_t first_ticks(const FileHeader& header) noexcept {
  return header.held_since_ticks > header.start_ticks ? header.held_since_ticks : header.start_ticks;
}

/// What a chunk holds. Numbers are never reused.
enum class ChunkKind : std::uint16_t {
  kMeta = 1,
  kNames = 2,
  kThreads = 3,
  kClock = 4,
  kHostEvents = 5,
  kKernels = 6,
  kMemcpys = 7,
  kMemsets = 8,
  kApiCalls = 9,
  kSyncs = 10,
  kOverheads = 11,
  kDevices = 12,
  kContexts = 13,
  kStreams = 14,
  kHealth = 15,
  kWindows = 16,
  kGraphNodes = 17,
  kGraphLaunches = 18,
  // 19 is set aside.
  kAllocations = 20,
  kJits = 21,
  kRangeMetrics = 22,
  kMetricSamples = 23,
  kDeviceSamples = 24,
  kEnd = 255,
};

/// Its rows are what was recorded, not what describes it.
constexpr bool holds_events(ChunkKind kind) noexcept {
  return (kind >= ChunkKind::kHostEvents && kind <= ChunkKind::kOverheads) ||
         (kind >= ChunkKind::kGraphNodes && kind < ChunkKind::kEnd);
}

struct ChunkHeader {
  std::uint32_t magic;
  std::uint16_t kind;
  std::uint16_t version;        // of this kind's layout; a reader skips a chunk whose version it does not know
  std::uint64_t sequence;       // 0, 1, 2, ... within the file
  std::uint32_t payload_bytes;  // as stored; the next chunk begins behind it at a multiple of 8
  std::uint32_t rows;
  std::uint64_t subject;  // kHostEvents: thread index; else 0
  std::uint64_t
      first;  // kHostEvents: first and last ticks; device rows: earliest begin and latest end, CLOCK_REALTIME ns
  std::uint64_t last;
  std::uint64_t payload_checksum;  // XXH3 of the payload
  std::uint64_t header_checksum;   // XXH3 of everything before it in this header
};
static_assert(sizeof(ChunkHeader) == 64);

// A writer stays within these; a reader refuses a chunk that claims more, since only memory would be lost on it.
inline constexpr std::uint32_t kMaxRows = 1u << 16;
inline constexpr std::uint32_t kMaxPayloadBytes = 32u << 20;
inline constexpr std::uint32_t kMaxUnpackedBytes = 32u << 20;  // of all columns together

/// Chunks begin at multiples of 8.
constexpr std::uint64_t padded(std::uint64_t bytes) noexcept { return (bytes + 7) & ~std::uint64_t{7}; }

// ---- the live file: <capture>.live, mapped while the program runs -----------------------------------------------

inline constexpr std::size_t kLiveHeaderBytes = 4096;
inline constexpr std::size_t kLiveCounters = 64;

/// Fixed part of the live file. The counters are bumped in place by the recording threads, so that what was dropped is
/// known even after kill -9.
struct LiveHeader {
  std::array<char, 8> magic;
  std::uint32_t version;  // major << 16 | minor of the capture format
  std::uint32_t header_bytes;
  CaptureId capture_id;
  std::uint64_t file_bytes;
  std::uint64_t names_offset;
  std::uint64_t names_bytes;
  std::uint64_t blocks_offset;
  std::uint32_t block_bytes;
  std::uint32_t block_count;
  FileHeader file_header;                 // enough to read the live file alone, should the capture be gone
  std::uint64_t checksum;                 // XXH3 of everything before it
  std::atomic<std::uint64_t> names_used;  // published bytes of the name area: {u32 id, u32 size, text, padding to 8}...
  std::atomic<std::uint64_t> health[kLiveCounters];  // by the numbers of CaptureHealth
};
static_assert(sizeof(LiveHeader) <= kLiveHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(std::atomic<std::uint64_t>) == 8);

enum class BlockState : std::uint32_t {
  kFree = 0,    ///< holds nothing, or what has been written to the capture
  kActive = 1,  ///< a thread writes to it
  kFull = 2,    ///< waits to be written to the capture
};

/// First 64 bytes of every block; records follow. `used` must stay first: detail/hot_path.hpp stores to it.
struct BlockHeader {
  std::atomic<std::uint32_t> used;     // bytes of the block in use, this header included; published with release
  std::atomic<std::uint32_t> state;    // BlockState
  std::uint64_t sequence;              // of this thread's blocks: 0, 1, 2, ...
  std::uint32_t thread;                // thread index within the capture
  std::uint32_t tid;                   // of the operating system
  std::atomic<std::uint32_t> drained;  // bytes already in the capture, this header included
  std::uint32_t reserved;
  char thread_name[16];
  std::atomic<std::uint64_t> dropped_ranges;  // by this thread while this was its block
  std::uint64_t reserved1;
};
static_assert(sizeof(BlockHeader) == detail::kBlockHeaderBytes);

}  // namespace rangefinder::format
