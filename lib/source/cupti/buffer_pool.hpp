// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::source::cupti {

/// Activity buffers within a memory bound, mapped at once, handed to CUPTI and taken back. `take`, `take_emergency` and
/// `give` are CUPTI's side: any thread, no lock, no system call while prepared buffers are left. The rest belongs to
/// the one thread that decodes.
class BufferPool {
 public:
  /// At least two buffers, whatever the bound. Empty when the address space is exhausted.
  static std::unique_ptr<BufferPool> create(std::size_t memory_bytes, std::size_t buffer_bytes);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // ---- CUPTI's side ---------------------------------------------------------------------------------------------

  /// A buffer of zeros; empty when all are out.
  std::span<std::uint8_t> take() noexcept;
  /// A small buffer beyond the bound, for a CUPTI that crashes when refused. Empty only when memory itself is out.
  std::span<std::uint8_t> take_emergency() noexcept;
  /// A buffer comes back with `valid` bytes of records. False for one that is not out: not ours, or returned twice.
  bool give(const std::uint8_t* data, std::size_t valid) noexcept;

  // ---- the decoder's side ---------------------------------------------------------------------------------------

  struct Filled {
    std::uint32_t slot = 0;
    std::uint8_t* data = nullptr;
    std::size_t valid = 0;
    std::size_t zeroed = 0;  // of the first bytes, by who read them
  };
  /// The buffer that came back first; false when there is none.
  bool pop(Filled& filled);
  /// Zeroes a popped buffer for its next use.
  void recycle(const Filled& filled) noexcept;
  /// Faults in pages until `ahead` buffers, or all, wait prepared: a fault of 4 MiB costs the application a
  /// millisecond.
  void prepare(std::size_t ahead) noexcept;
  /// Gives the pages of all waiting buffers back to the system.
  void release_memory() noexcept;

  /// Buffers that are out and were not at the last call: CUPTI keeps them. For one thread at a time.
  std::size_t count_kept() noexcept {
    const std::size_t now = outstanding();
    const std::size_t before = std::exchange(kept_, now);
    return now > before ? now - before : 0;
  }
  std::size_t outstanding() const noexcept { return outstanding_.load(std::memory_order_acquire); }
  std::uint64_t emergencies() const noexcept { return emergencies_.load(std::memory_order_relaxed); }
  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  std::size_t buffers() const noexcept { return count_; }

 private:
  enum State : std::uint32_t {
    kUntouched,  // zeros, but its pages are not there yet
    kReady,      // zeros, with pages
    kOut,        // with CUPTI
    kBack,       // in the list of buffers to decode, or being decoded
  };
  struct Slot {
    std::atomic<std::uint32_t> state{kUntouched};
    std::atomic<std::uint8_t*> data{nullptr};
    std::size_t valid = 0;   // written before the slot goes on the list, read after it came off
    std::uint32_t next = 0;  // index + 1 in the list of returned buffers
  };
  static constexpr std::size_t kEmergencyBytes = 64 << 10;
  static constexpr std::size_t kEmergencySlots = 1024;

  BufferPool(std::uint8_t* memory, std::size_t count, std::size_t buffer_bytes);
  bool take_in_state(State from, std::span<std::uint8_t>& taken) noexcept;
  Slot* slot_of(const std::uint8_t* data, std::uint32_t& index) noexcept;
  Slot& slot(std::uint32_t index) noexcept { return index < count_ ? slots_[index] : emergency_[index - count_]; }

  std::uint8_t* const memory_;
  const std::size_t count_;
  const std::size_t buffer_bytes_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<Slot[]> emergency_;
  std::atomic<std::size_t> outstanding_{0};
  std::size_t kept_ = 0;
  std::atomic<std::uint64_t> emergencies_{0};
  // Returned buffers, last first; `pop` takes them all and turns them round.
  std::atomic<std::uint32_t> returned_{0};
  std::vector<std::uint32_t> waiting_;
  std::size_t waiting_at_ = 0;
};

}  // namespace rangefinder::source::cupti
