// SPDX-License-Identifier: MIT
#pragma once

#include "source/nccl/handle.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rangefinder::nccl {

inline constexpr std::size_t kSlots = std::size_t{1} << Handle::kSlotBits;
inline constexpr std::size_t kMaxCommunicators = std::size_t{1} << Handle::kCommunicatorBits;

/// A collective between the start of its event and the stop of its last child. Its fields change by compare and
/// exchange of one word: NCCL's launching and progress threads meet here.
struct Slot {
  std::atomic<std::uint64_t> state{0};            ///< SlotState
  std::atomic<std::uint32_t> collective{0};       ///< of begin_collective()
  std::atomic<std::uint32_t> channels_to_end{0};  ///< children after which it is done; 0: not known
};

/// A communicator of NCCL's, and its collectives in flight: slots that are used in turn. Nothing says that a collective
/// will have no more children (those of one node have none before v3), so the slot of one that has returned and has no
/// child running is kept until its turn comes again.
class Communicator {
 public:
  explicit Communicator(std::uint32_t index) noexcept : index_(index) {}

  /// For a new communicator of NCCL's. `ranks`: 0: not known. `sees_channels`: children are kernel channels.
  void open(int ranks, bool sees_channels) noexcept;
  /// Handles of its events have no effect from now on.
  void close() noexcept;
  bool is_open() const noexcept { return is_open_.load(std::memory_order_acquire); }

  int ranks() const noexcept { return ranks_; }
  bool sees_channels() const noexcept { return sees_channels_; }
  /// Its group in the recording, named once: by init, or in v1 to v3, where only events know the hash, by the first of
  /// them, which allocates. 0: not known.
  std::uint32_t group(std::uint64_t hash, std::string_view name, int rank) noexcept;
  /// Position of a collective among those of the communicator, whatever their kinds. It counts while nothing is
  /// recorded, so that ranks whose recordings begin at different times agree.
  std::int64_t next_number() noexcept { return next_number_.fetch_add(1, std::memory_order_relaxed); }

  /// Keeps a collective until its children have stopped. kNone where all slots are in use.
  Handle keep(std::uint32_t collective, std::uint32_t channels_to_end) noexcept;

 private:
  friend void note_returned(Handle) noexcept;
  friend Handle begin_child(Handle) noexcept;
  friend void end_child(Handle) noexcept;

  const std::uint32_t index_;
  std::atomic<bool> is_open_{false};
  int ranks_ = 0;
  bool sees_channels_ = false;
  std::atomic<std::uint32_t> group_{0};
  std::atomic<bool> is_named_{false};
  std::atomic<std::int64_t> next_number_{0};
  std::atomic<std::uint32_t> next_slot_{0};
  std::array<Slot, kSlots> slots_;
};

/// One that is closed, or a new one, open; null where there is no memory, or kMaxCommunicators are open. They are never
/// freed: a progress thread may hold one.
Communicator* take_communicator(int ranks, bool sees_channels) noexcept;
void give_back(Communicator* communicator) noexcept;

/// NCCL's call for the collective came back.
void note_returned(Handle collective) noexcept;
/// Work for the collective began. Notes that it started at the first. kNone if the collective is not kept any more.
Handle begin_child(Handle collective) noexcept;
/// Notes that the collective is done when the last has ended. Where it is not known how many there will be, that is
/// noted each time when none is running.
void end_child(Handle child) noexcept;

}  // namespace rangefinder::nccl
