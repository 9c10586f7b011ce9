// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// What sources write into the calling thread's own record stream, so that its order against ranges is exact.
namespace rangefinder::buffer {

/// Notes that the calling thread enters a CUDA call that may cause device work. `callback` (24 bits): bit 23 set for
/// the driver API, the callback id below. Does nothing while the recording is off; without memory it is dropped and
/// counted (dropped_launches). Callable from CUPTI callbacks: takes no lock that is held anywhere while CUPTI is
/// called.
void note_launch(std::uint32_t correlation, std::uint32_t callback) noexcept;

/// The same; false when it was not written.
bool try_note_launch(std::uint32_t correlation, std::uint32_t callback) noexcept;

/// Notes that step `number` begins now on the calling thread, and what was done in the one that ends; 0: nothing.
/// `recorded` false: the note ends the step before, and the recording goes off.
void note_step(std::uint32_t number, std::uint64_t items_done = 0, bool recorded = true) noexcept;

/// Runs what a component has set to be done at each step (detail/memory.hpp): before note_step, with no lock of the
/// recorder's held, since allocators are asked there.
void before_step() noexcept;

inline constexpr std::uint32_t kDriverCallback = 1u << 23;

}  // namespace rangefinder::buffer
