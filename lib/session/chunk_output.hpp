// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "format/layout.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <deque>
#include <string>

namespace rangefinder::session {

/// Where packed chunks go. One caller at a time.
class ChunkOutput {
 public:
  virtual ~ChunkOutput() = default;
  /// `chunk` is whole: header, payload, padding. The sequence number in its header is the one `next_sequence` gave.
  virtual Status put(const format::ChunkHeader& header, base::ByteView chunk) = 0;
  virtual std::uint64_t next_sequence() const noexcept = 0;
  /// Records given up on purpose to keep a bound.
  virtual std::uint64_t overwritten() const noexcept { return 0; }
};

/// Appends to the capture file. A chunk that could not be written whole is written over by the next, so that the file
/// stays readable up to the last good one.
class FileOutput final : public ChunkOutput {
 public:
  static Result<FileOutput> create(const std::string& path, bool replace, const format::FileHeader& header);
  FileOutput(FileOutput&&) = default;

  Status put(const format::ChunkHeader& header, base::ByteView chunk) override;
  std::uint64_t next_sequence() const noexcept override { return sequence_; }
  std::uint64_t bytes() const noexcept { return offset_; }
  const base::Fd& fd() const noexcept { return fd_; }

 private:
  FileOutput() = default;
  base::Fd fd_;
  std::string path_;
  std::uint64_t offset_ = 0;
  std::uint64_t sequence_ = 0;
};

struct RingLimits {
  std::uint64_t bytes = 0;
  std::uint64_t ticks = 0;  ///< 0: no limit of time
};

/// Keeps the newest chunks of events in memory, within bounds, and all chunks that others depend on (names, threads,
/// clock points). `dump` writes them as a capture.
class RingOutput final : public ChunkOutput {
 public:
  RingOutput(const format::FileHeader& header, RingLimits limits) : header_(header), limits_(limits) {}

  Status put(const format::ChunkHeader& header, base::ByteView chunk) override;
  std::uint64_t next_sequence() const noexcept override { return sequence_; }
  std::uint64_t overwritten() const noexcept override { return overwritten_; }
  Status dump(const std::string& path, bool replace) const;

 private:
  struct Kept {
    format::ChunkHeader header;
    base::Bytes bytes;
  };
  void drop_old(std::uint64_t newest_ticks);

  format::FileHeader header_;
  RingLimits limits_;
  std::deque<Kept> events_;
  std::deque<Kept> context_;
  std::uint64_t event_bytes_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t overwritten_ = 0;
};

}  // namespace rangefinder::session
