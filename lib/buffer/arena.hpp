// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "format/layout.hpp"

#include <rangefinder/result.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::buffer {

struct ArenaOptions {
  std::string live_path;  ///< the live file; empty: private memory, which does not survive a crash
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;
  std::uint64_t limit_bytes = 0;  ///< may grow up to here; 0: never grows
  bool keep_newest = false;       ///< what was drained last stays in the live file, up to a quarter of the blocks
  format::FileHeader file_header{};
};

/// The memory of one recording: a live file (or private memory) cut into blocks, and the lists that pass them from
/// threads to the drain and back. Free blocks are taken last in, first out, so that the set in use stays small and
/// stays in the cache. With `keep_newest`, a drained block is free only after those drained before it.
///
/// An arena is never unmapped while a thread might still write to it: `retire` puts fresh private pages in place of the
/// file, so that a straggler's record lands nowhere. See Recorder for when the addresses are given back.
class Arena {
 public:
  static Result<Arena*> create(const ArenaOptions& options);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Null when no block is free. Lock-free.
  format::BlockHeader* take_free() noexcept;
  void give_free(format::BlockHeader* block) noexcept;
  /// Hands a full block to the drain. Returns how many wait now.
  std::uint32_t push_full(format::BlockHeader* block) noexcept;
  /// All full blocks, oldest first, linked by `next_full`.
  format::BlockHeader* take_all_full() noexcept;
  format::BlockHeader* next_full(format::BlockHeader* block) const noexcept;
  /// From the drain alone: the block is free, at once or, with `keep_newest`, later.
  void give_drained(format::BlockHeader* block) noexcept;
  /// From the drain alone: frees the oldest of the drained blocks that are kept, where too many are or threads run
  /// short of free ones.
  void free_oldest_drained() noexcept;

  /// Adds a segment of blocks; false at the limit or when the system refuses. Serialised by the caller.
  bool grow() noexcept;
  /// Faults in up to `count` further blocks ahead of their use; false when all are.
  bool prepare(std::uint32_t count) noexcept;

  /// Makes a name known to whoever reads the live file. False when the area is full: the name then reaches the capture
  /// with the first records that use it, as all names do.
  bool publish_name(std::uint32_t id, std::string_view text) noexcept;

  void count(std::uint32_t health_number, std::uint64_t n) noexcept {
    if (health_number < format::kLiveCounters) live_->health[health_number].fetch_add(n, std::memory_order_relaxed);
  }
  std::uint64_t counted(std::uint32_t health_number) const noexcept {
    return health_number < format::kLiveCounters ? live_->health[health_number].load(std::memory_order_relaxed) : 0;
  }

  void retire(bool remove_file) noexcept;

  std::uint32_t block_count() const noexcept { return block_count_.load(std::memory_order_relaxed); }
  std::uint32_t free_count() const noexcept { return free_count_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const noexcept;

  // The recorder's: which recording it belongs to, and the list of those that are over.
  std::uint32_t generation = 0;
  Arena* next_retired = nullptr;

 private:
  Arena() = default;
  Status map(const ArenaOptions& options);
  void push_free(std::uint32_t position) noexcept;
  bool add_blocks(std::uint32_t from, std::uint32_t count) noexcept;
  format::BlockHeader* block(std::uint32_t index) const noexcept {
    return reinterpret_cast<format::BlockHeader*>(blocks_ + std::size_t{index} * detail::kBlockBytes);
  }
  std::uint32_t index_of(const format::BlockHeader* block) const noexcept {
    return static_cast<std::uint32_t>((reinterpret_cast<const char*>(block) - blocks_) /
                                      static_cast<std::ptrdiff_t>(detail::kBlockBytes));
  }

  std::string live_path_;
  base::Fd fd_;
  char* reservation_ = nullptr;  // address space, blocks aligned within
  std::size_t reservation_bytes_ = 0;
  char* mapping_ = nullptr;  // file offset 0
  format::LiveHeader* live_ = nullptr;
  char* names_ = nullptr;
  std::uint64_t names_bytes_ = 0;
  char* blocks_ = nullptr;
  std::uint32_t block_limit_ = 0;
  std::atomic<std::uint32_t> block_count_{0};
  std::uint32_t prepared_ = 0;
  bool retired_ = false;

  std::atomic<std::uint32_t>* next_ = nullptr;           // by block; index + 1, 0 = end of list
  alignas(64) std::atomic<std::uint64_t> free_head_{0};  // tag << 32 | index + 1; the tag makes a reused head differ
  alignas(64) std::atomic<std::uint32_t> full_head_{0};
  std::atomic<std::uint32_t> full_count_{0};
  std::atomic<std::uint32_t> free_count_{0};

  // The drain's: drained blocks that are kept, oldest first, in a list like the others.
  bool keep_newest_ = false;
  std::uint32_t drained_first_ = 0;
  std::uint32_t drained_last_ = 0;
  std::uint32_t drained_count_ = 0;
};

}  // namespace rangefinder::buffer
