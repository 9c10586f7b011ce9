// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rangefinder::buffer {

/// Grows with each thread that the program gives a name; 0: none has one.
std::uint32_t given_thread_names() noexcept;
/// The name's id in names(); 0: none was given.
std::uint32_t given_thread_name(std::uint32_t tid) noexcept;

/// For the handlers of a fork.
void lock_thread_names() noexcept;
void unlock_thread_names() noexcept;

}  // namespace rangefinder::buffer
