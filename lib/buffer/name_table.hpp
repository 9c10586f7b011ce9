// SPDX-License-Identifier: MIT
#pragma once

#include "buffer/thread_sync.hpp"

#include <rangefinder/detail/hot_path.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rangefinder::buffer {

/// The names of the process: texts stored once each, numbered from 1, never freed. Memory comes from mmap, not from
/// malloc, so that a range opened in a signal handler cannot meet the allocator's lock.
///
/// Threads: any. `text`, `size`, and `intern` of a text that is there take no lock; the lock of a new one is held for a
/// copy, and nothing is called under it.
class NameTable {
 public:
  static constexpr std::uint32_t kMaxNames = 1u << 18;
  static constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMaxNameBytes = std::size_t{16} << 10;
  /// Names beyond kMaxNames, or text beyond kMaxTextBytes, are for kernels and API calls alone: their number is bounded
  /// by the program's code, not by its data.
  static constexpr std::uint32_t kReservedNames = 1u << 18;
  /// Of the first, what texts of operators' inputs may take: data makes them, and ranges must still find room.
  static constexpr std::uint32_t kMaxInputs = kMaxNames / 2;
  static constexpr std::size_t kMaxInputBytes = kMaxTextBytes / 2;

  struct Interned {
    std::uint32_t id = 0;  ///< 0: the table is full
    bool is_new = false;
    bool truncated = false;  ///< past kMaxNameBytes, and cut
  };
  Interned intern(std::string_view text, bool reserved) noexcept {
    return intern(text, reserved ? Use::kReserved : Use::kName);
  }
  /// Whole or not at all.
  Interned intern_inputs(std::string_view text) noexcept {
    return text.size() <= kMaxNameBytes ? intern(text, Use::kInputs) : Interned{};
  }

  std::string_view text(std::uint32_t id) const noexcept;
  std::uint32_t size() const noexcept { return count_.load(std::memory_order_acquire); }

  /// The recording in whose live file the name stands; 0: in none. For the recorder.
  std::uint32_t published(std::uint32_t id) const noexcept {
    return entries_[id - 1].published.load(std::memory_order_acquire);
  }
  void set_published(std::uint32_t id, std::uint32_t generation) noexcept {
    entries_[id - 1].published.store(generation, std::memory_order_release);
  }

  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  struct Entry {
    const char* text;
    std::uint32_t size;
    std::uint32_t hash;
    std::atomic<std::uint32_t> published;
  };
  enum class Use : std::uint8_t { kName, kReserved, kInputs };
  Interned intern(std::string_view text, Use use) noexcept;
  bool has_room(std::size_t bytes, Use use) const noexcept;
  bool reserve_memory() noexcept;
  /// The slot that holds the text, or the free one where it belongs.
  std::size_t find_slot(std::string_view text, std::uint32_t hash) const noexcept;
  const char* store(std::string_view text) noexcept;

  static constexpr std::uint32_t kCapacity = kMaxNames + kReservedNames;
  static constexpr std::size_t kSlots = std::size_t{kCapacity} * 2;

  std::atomic<std::uint32_t> count_{0};
  ShortLock lock_;
  Entry* entries_ = nullptr;                                 // by id - 1; written before the slot that leads to it
  std::atomic<std::atomic<std::uint32_t>*> slots_{nullptr};  // id, 0 = free
  char* text_at_ = nullptr;
  std::size_t text_left_ = 0;
  std::size_t text_bytes_ = 0;
  std::uint32_t inputs_ = 0;
  std::size_t input_bytes_ = 0;
};

/// Range names, counters, kernels: one space of ids.
NameTable& names() noexcept;
/// Category names; ids of their own, 16 bits. Id 1 is "operator".
NameTable& categories() noexcept;

}  // namespace rangefinder::buffer
