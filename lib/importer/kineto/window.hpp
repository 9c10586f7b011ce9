// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/byte_source.hpp"
#include "importer/kineto/scan.hpp"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rangefinder::importer::kineto {

/// Chunks of a source, read ahead by a thread of their own once there is more than one: unpacking and parsing each take
/// about as long, so two cores halve the wait.
class ChunkReader {
 public:
  static constexpr std::size_t kChunk = std::size_t{256} << 10;
  static constexpr std::size_t kHeadroom = std::size_t{64} << 10;

  struct Chunk {
    std::unique_ptr<char[]> memory;
    std::size_t size = 0;
    std::uint64_t newlines = 0;
    std::uint64_t file_position = 0;

    char* data() const noexcept { return memory.get() + kHeadroom; }
  };

  ChunkReader(ByteSource& source, std::uint64_t max_bytes);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  /// The next chunk, or null at the end. It stays valid until the next but one call.
  const Chunk* next();
  /// Only after next() gave null.
  const SourceEnd& end() const noexcept { return end_; }

 private:
  static constexpr std::size_t kChunks = 8;
  /// A reader that is ahead sleeps until this many chunks are free, so that threads do not wake each other at each one.
  static constexpr std::uint64_t kWakeAt = kChunks / 2;

  void fill(Chunk& chunk);
  void fill_or_fail(Chunk& chunk) noexcept;
  const Chunk* next_from_thread();
  void run();
  void start_thread() noexcept;

  ByteSource& source_;
  std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0;
  SourceEnd end_;
  bool exhausted_ = false;  ///< the source has ended; by the thread that fills

  std::array<Chunk, kChunks> chunks_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::condition_variable filled_more_;
  std::uint64_t taken_ = 0;     // chunks that next() gave out; guarded by mutex_ once the thread runs
  std::uint64_t filled_ = 0;    // likewise
  std::uint64_t released_ = 0;  // likewise
  bool finished_ = false;       // likewise: no chunk will follow; end_ is set
  bool stop_ = false;           // likewise: the consumer has gone
};

/// The text around the place where the parser is, contiguous, with kPadding zero bytes behind it.
class TextWindow {
 public:
  TextWindow(ByteSource& source, std::uint64_t max_bytes) : reader_(source, max_bytes) {}

  Cursor cursor;

  /// Brings more text behind the window and drops what lies before cursor.at. False when there is none: the window then
  /// ends where the input does.
  bool refill();
  bool at_end() const noexcept { return finished_; }
  /// Only when at_end().
  const SourceEnd& source_end() const noexcept { return reader_.end(); }
  /// A single value was longer than we are willing to hold; refill() has failed for that reason.
  bool too_long() const noexcept { return too_long_; }

  /// Bytes of text before `at`, and the line it is on, from 1. `at` must lie in the window.
  std::uint64_t offset_of(const char* at) const noexcept {
    return end_offset_ - static_cast<std::uint64_t>(cursor.end - at);
  }
  std::uint64_t line_of(const char* at) const noexcept;
  std::uint64_t file_position() const noexcept { return file_position_; }
  std::uint64_t text_bytes() const noexcept { return end_offset_; }
  /// Reads on to the end without keeping anything; returns how many bytes lay behind `at`.
  std::uint64_t drain(const char* at);

  /// Longest value: an event, or one member of the trace other than its events.
  static constexpr std::size_t kMaxValue = std::size_t{64} << 20;

 private:
  bool take_chunk(const ChunkReader::Chunk*& chunk);
  bool refill_spilled(const char* keep, std::size_t kept, const ChunkReader::Chunk* chunk);

  ChunkReader reader_;
  std::vector<char> spill_;
  std::uint64_t end_offset_ = 0;
  std::uint64_t lines_ = 0;  ///< newlines before cursor.end
  std::uint64_t file_position_ = 0;
  bool finished_ = false;
  bool too_long_ = false;
};

}  // namespace rangefinder::importer::kineto
