// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <string_view>

// What is told of a program's NVTX, beside ranges and marks. For librangefinder_injection.
namespace rangefinder::detail {

/// A category (Category::id) whose ranges have a colour is one of its own: interned with this, and the colour as
/// #rrggbb, behind its name.
inline constexpr char kBehindCategory = '\x1e';
/// `colour`: 0xRRGGBB. The category itself where there are too many.
RANGEFINDER_EXPORT std::uint32_t coloured_category(std::uint32_t category, std::uint32_t colour) noexcept;

/// As async_begin_slow, with a value; null: none.
RANGEFINDER_EXPORT std::uint64_t async_begin_extra(std::string_view name, std::uint32_t category,
                                                   const Extra* value) noexcept;

/// cuInit has called, and waits until it is told that this is over: its driver must not be asked anything meanwhile.
RANGEFINDER_EXPORT void cuda_is_initializing(bool now) noexcept;

/// The process uses CUDA now: a recording that found no CUPTI looks for it again.
RANGEFINDER_EXPORT void cuda_has_come() noexcept;

/// Whether a session can start in this child of a process that was recording. False where a thread of the parent was
/// reading the list of libraries when it forked: here no thread can any more.
RANGEFINDER_EXPORT bool child_can_record() noexcept;

/// What the thread of that number in the system is called in captures, from now on.
RANGEFINDER_EXPORT void name_thread(std::uint32_t tid, std::string_view name) noexcept;

/// The program uses a domain that is not to be recorded; to be told once of each. "default": calls without a domain.
RANGEFINDER_EXPORT void domain_left_out(std::string_view name) noexcept;

}  // namespace rangefinder::detail
