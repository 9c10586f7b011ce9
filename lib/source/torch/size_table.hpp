// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace rangefinder::torch {

/// The bytes of live blocks by address, for threads that share no lock. A block has a place in one of a few neighbours
/// of its slot, or in the next table, eight times as large, which is made when it is first needed and stays.
class SizeTable {
 public:
  /// False when there is no memory for it, or the address is 0. The address must not be in the table.
  bool put(std::uintptr_t address, std::uint64_t bytes) noexcept {
    if (address == 0) return false;
    for (unsigned level = 0; level < kLevels; ++level) {
      Slot* const slots = level_for_writing(level);
      if (slots == nullptr) return false;
      Slot* const first = slots + place(address, level);
      for (Slot* slot = first; slot < first + kNeighbours; ++slot) {
        std::uintptr_t free = 0;
        // Acquire: after whoever emptied it has read the bytes.
        if (slot->address.load(std::memory_order_relaxed) != 0 ||
            !slot->address.compare_exchange_strong(free, kFilling, std::memory_order_acquire))
          continue;
        slot->bytes.store(bytes, std::memory_order_relaxed);
        slot->address.store(address, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  /// Has the memory fetched that `put` of this address looks at first.
  void prefetch(std::uintptr_t address) const noexcept {
    if (const Slot* const slots = levels_[0].load(std::memory_order_acquire); slots != nullptr)
      __builtin_prefetch(slots + place(address, 0), 1);
  }

  /// Takes the block out; 0: it is not there.
  std::uint64_t take(std::uintptr_t address) noexcept {
    if (address == 0) return 0;
    for (unsigned level = 0; level < kLevels; ++level) {
      Slot* const slots = levels_[level].load(std::memory_order_acquire);
      if (slots == nullptr) return 0;
      Slot* const first = slots + place(address, level);
      for (Slot* slot = first; slot < first + kNeighbours; ++slot) {
        if (slot->address.load(std::memory_order_acquire) != address) continue;
        const std::uint64_t bytes = slot->bytes.load(std::memory_order_relaxed);
        slot->address.store(0, std::memory_order_release);
        return bytes;
      }
    }
    return 0;
  }

 private:
  struct Slot {
    std::atomic<std::uintptr_t> address;
    std::atomic<std::uint64_t> bytes;
  };
  // The first table is dense, so that the blocks of most programs share few pages and lines of memory.
  static constexpr std::uintptr_t kFilling = 1;  // no address: the bytes are about to be there
  static constexpr unsigned kFirstBits = 9;
  static constexpr unsigned kMoreBits = 3;  // of each table after it
  static constexpr unsigned kLevels = 9;
  static constexpr std::size_t kNeighbours = 8;

  static constexpr unsigned bits_of(unsigned level) noexcept { return kFirstBits + level * kMoreBits; }

  static std::size_t place(std::uintptr_t address, unsigned level) noexcept {
    return static_cast<std::size_t>(address * std::uint64_t{0x9E3779B97F4A7C15u} >> (64 - bits_of(level)));
  }

  Slot* level_for_writing(unsigned level) noexcept {
    Slot* slots = levels_[level].load(std::memory_order_acquire);
    if (slots != nullptr) return slots;
    // calloc: pages that are never touched cost nothing, and all zeros is an empty table.
    auto* const fresh = static_cast<Slot*>(std::calloc((std::size_t{1} << bits_of(level)) + kNeighbours, sizeof(Slot)));
    if (fresh == nullptr) return nullptr;
    if (levels_[level].compare_exchange_strong(slots, fresh, std::memory_order_acq_rel)) return fresh;
    std::free(fresh);
    return slots;
  }

  std::array<std::atomic<Slot*>, kLevels> levels_{};
};

}  // namespace rangefinder::torch
