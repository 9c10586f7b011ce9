// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/types.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>

// What a component that watches a framework's allocators tells the recorder, which knows none. Not for users.
namespace rangefinder::detail {

/// One event of an allocator, as AllocatorEventTable has it.
struct MemoryEvent {
  MemoryAction action = MemoryAction::kAllocate;
  std::int32_t device = -1;  ///< -1: memory of the host
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::int64_t allocated = -1;  ///< -1: not known
  std::int64_t reserved = -1;
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;
};

/// Writes the event to the recording that runs, at the calling thread's time. What is known costs 16 bytes each, values
/// behind the last one nothing. Dropped and counted (CaptureHealth::dropped_memory_events) where there is no room: it
/// never waits for any, since allocators call it under locks of their own.
RANGEFINDER_EXPORT void memory_event_slow(const MemoryEvent& event) noexcept;

RANGEFINDER_INLINE void memory_event(const MemoryEvent& event) noexcept {
  if (is_recording()) memory_event_slow(event);
}

/// The event of a block of the host that was allocated or freed, where `allocated` bytes are afterwards. 16 bytes of
/// the recording; 16 more where its size, or that total, does not follow from what the thread wrote before.
RANGEFINDER_EXPORT void host_block_slow(bool freed, std::uint64_t address, std::uint64_t bytes,
                                        std::uint64_t allocated) noexcept;

RANGEFINDER_INLINE void host_block(bool freed, std::uint64_t address, std::uint64_t bytes,
                                   std::uint64_t allocated) noexcept {
  if (is_recording()) host_block_slow(freed, address, bytes, allocated);
}

/// What the component does at each step while a session records, on the thread that steps, before the step is noted:
/// what it writes belongs to the step that ends. False: not all of it could be told, which counts as a dropped event.
using StepHook = bool (*)() noexcept;

/// There is one hook in the process; it stays.
RANGEFINDER_EXPORT void set_step_hook(StepHook hook) noexcept;

}  // namespace rangefinder::detail
