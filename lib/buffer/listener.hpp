// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>

#include <cstdint>

namespace rangefinder::buffer {

/// Somebody else who wants to see ranges as they happen, in process: the emission of NVTX. Called on the thread of the
/// range, outside of any lock of ours. One at most; set once, never taken back.
struct Listener {
  void (*begin)(std::uint32_t name, std::uint32_t category, const detail::Extra* extra) noexcept;
  void (*end)() noexcept;
  void (*mark)(std::uint32_t name, std::uint32_t category, const detail::Extra* extra) noexcept;
  void (*async_begin)(std::uint32_t name, std::uint32_t category, std::uint64_t handle) noexcept;
  void (*async_end)(std::uint64_t handle) noexcept;
};

/// From now on every range takes the slow path and the listener hears of it, with a recording or without.
void set_listener(const Listener* listener) noexcept;
const Listener* listener() noexcept;

}  // namespace rangefinder::buffer
