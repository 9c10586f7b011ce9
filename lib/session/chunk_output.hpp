// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "format/layout.hpp"
#include "session/output_name.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::session {

/// How far a reader of an output has got.
struct OutputCursor {
  std::uint64_t sequence = 0;  ///< of the next chunk
  std::uint64_t offset = sizeof(format::FileHeader);
};

/// Where packed chunks go. One caller at a time.
class ChunkOutput {
 public:
  virtual ~ChunkOutput() = default;
  /// `chunk` is whole: header, payload, padding. The sequence number in its header is the one `next_sequence` gave.
  virtual Status put(const format::ChunkHeader& header, base::ByteView chunk) = 0;
  virtual std::uint64_t next_sequence() const noexcept = 0;
  using Use = std::function<bool(const format::ChunkHeader&, base::ByteView payload)>;
  /// Calls `use` with the chunks put since the cursor was here last, in order, but for those that are gone by now.
  /// False ends the reading; that chunk is the first of the next one.
  virtual Status read_since(OutputCursor& cursor, const Use& use) const = 0;
  /// Whether what was put does not stay.
  virtual bool forgets() const noexcept { return false; }
  /// What takes the place of the chunk of events that was put last, when that one goes.
  virtual void leave_behind(const format::ChunkHeader&, base::ByteView) {}
  /// At the end: whether what was put is still there.
  virtual Status check() const { return {}; }
  /// Removes the last chunk of events, to make room for the end of a file that can grow no more. Gives its rows; none
  /// where there is nothing to take back.
  virtual std::optional<std::uint64_t> take_back_events() { return std::nullopt; }
  /// Records given up on purpose to keep a bound.
  virtual std::uint64_t overwritten() const noexcept { return 0; }
};

/// Appends to the capture file. What of a chunk was written when the rest could not be is taken back, so that the file
/// stays readable up to the last good one.
class FileOutput final : public ChunkOutput {
 public:
  /// The file holds its header.
  explicit FileOutput(std::shared_ptr<OutputFile> file) noexcept : file_(std::move(file)) {}

  Status put(const format::ChunkHeader& header, base::ByteView chunk) override;
  std::uint64_t next_sequence() const noexcept override { return sequence_; }
  Status read_since(OutputCursor& cursor, const Use& use) const override;
  Status check() const override;
  std::optional<std::uint64_t> take_back_events() override;
  std::uint64_t bytes() const noexcept { return offset_; }

 private:
  std::shared_ptr<OutputFile> file_;
  std::uint64_t offset_ = sizeof(format::FileHeader);
  std::uint64_t events_at_ = 0, events_bytes_ = 0, events_rows_ = 0;  // the last chunk of events
  std::uint64_t sequence_ = 0;
};

struct RingLimits {
  std::uint64_t bytes = 0;
  std::uint64_t ticks = 0;  ///< 0: no limit of time
};

/// What a flight recorder held at one moment. Shares its memory.
class RingSnapshot {
 public:
  /// As a capture of its own, to an empty file; `path` is for what is said of it.
  Status write(const base::Fd& fd, const std::string& path) const;

 private:
  friend class RingOutput;
  format::FileHeader header_{};
  std::vector<std::shared_ptr<const base::Bytes>> chunks_;
};

/// Keeps the newest chunks of events in memory, within bounds, and what of the others they depend on: all names,
/// devices and facts, and nodes of graphs with what was captured for them up to a quarter of the bound; clock points
/// and windows as far back as the events go; the last health; the threads of the events, and some more.
class RingOutput final : public ChunkOutput {
 public:
  RingOutput(const format::FileHeader& header, RingLimits limits) : header_(header), limits_(limits) {}

  Status put(const format::ChunkHeader& header, base::ByteView chunk) override;
  std::uint64_t next_sequence() const noexcept override { return sequence_; }
  Status read_since(OutputCursor& cursor, const Use& use) const override;
  bool forgets() const noexcept override { return true; }
  void leave_behind(const format::ChunkHeader& header, base::ByteView chunk) override;
  std::uint64_t overwritten() const noexcept override { return overwritten_; }
  RingSnapshot snapshot() const;
  /// What is put from now on does not get old: graphs are replayed long after they were captured.
  void keep_for_good(bool on) noexcept { keeping_ = on; }
  /// Of all chunks that are kept.
  std::uint64_t bytes() const noexcept { return event_bytes_ + context_bytes_; }

 private:
  struct Kept {
    format::ChunkHeader header;
    std::uint64_t newest_ticks;  // of any host record when the chunk came
    std::shared_ptr<const base::Bytes> bytes;
    format::ChunkHeader left_header{};
    std::shared_ptr<const base::Bytes> left;  // what takes its place; null: nothing
  };
  struct Thread {
    Kept kept;
    std::uint64_t chunks = 0;  // of its events
  };
  void keep_context(Kept kept);
  void keep_event(Kept kept);
  bool stays(format::ChunkKind kind, std::size_t bytes) noexcept;
  void drop_old_events();
  std::uint64_t keep_left(Kept& oldest);
  void drop_old_context();
  void drop_old(std::deque<Kept>& chunks);
  std::uint64_t oldest_ticks() const noexcept;
  template <typename Take>
  void for_each_kept(const Take& take) const;
  static std::uint64_t cost(const Kept& kept) noexcept {
    return kept.bytes->size() + (kept.left != nullptr ? kept.left->size() : 0) + sizeof(Kept);
  }

  format::FileHeader header_;
  RingLimits limits_;
  std::deque<Kept> events_;
  std::deque<Kept> always_;  // names, devices, facts
  std::deque<Kept> clock_, windows_;
  std::deque<Kept> health_;  // one
  std::map<std::uint64_t, Thread> threads_;
  bool keeping_ = false;
  std::uint64_t graph_bytes_ = 0;  // that stay
  std::uint64_t event_bytes_ = 0;
  std::uint64_t context_bytes_ = 0;
  std::uint64_t newest_ticks_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t overwritten_ = 0;
};

}  // namespace rangefinder::session
