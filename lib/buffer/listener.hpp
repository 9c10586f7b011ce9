// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>

#include <cstdint>

namespace rangefinder::buffer {

/// A client that sees ranges as they happen, in process: the emission of NVTX, or the counting of hardware
/// counters. Called on the thread of the range, without any of the library's locks held, just after its begin and its
/// end were recorded. One at most. After one was taken back and another set, that one may hear ends of ranges that
/// began before.
struct Listener {
  void (*begin)(std::uint32_t name, std::uint32_t category, const detail::Extra* extra) noexcept;
  void (*end)() noexcept;
  void (*mark)(std::uint32_t name, std::uint32_t category, const detail::Extra* extra) noexcept;
  void (*async_begin)(std::uint32_t name, std::uint32_t category, std::uint64_t handle) noexcept;
  void (*async_end)(std::uint64_t handle) noexcept;
};

/// From now on every range takes the slow path and the listener hears of it, with a recording or without. Null: no
/// listener from now on, but a call in progress continues.
void set_listener(const Listener* listener) noexcept;
const Listener* listener() noexcept;

}  // namespace rangefinder::buffer
