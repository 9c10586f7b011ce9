// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <string_view>

// What a component that watches a framework's operators tells the recorder, which knows none. Not for users.
namespace rangefinder::detail {

/// Opens a range of Category::operators() like begin_text, giving its token, and records what there is to say of the
/// operator with it: both or neither. Quickest for a name that the thread finds at the same address again and again, as
/// frameworks keep the names of their operators.
///
/// `sequence`: the number that the thread's next node of autograd gets, as asked right now, or that of the node that it
/// is; -1: none.
RANGEFINDER_EXPORT std::uint64_t begin_operator(const char* name, std::int64_t sequence, std::uint64_t& word) noexcept;
/// `forward_thread`: of a node the thread that made it; else 0. `inputs`: from intern_inputs; 0: none.
RANGEFINDER_EXPORT std::uint64_t begin_operator(const char* name, std::int64_t sequence, std::uint64_t forward_thread,
                                                std::uint32_t inputs, std::uint64_t& word) noexcept;

/// The number of a text that tells inputs: shapes, types and values, each a JSON list, a line break between them. For
/// the life of the process; 0 when it is too long or there are too many: programs make shapes without end, and the
/// names of ranges need room.
RANGEFINDER_EXPORT std::uint32_t intern_inputs(std::string_view text) noexcept;

/// An operator was left out on purpose; its inputs were; it was for want of memory.
RANGEFINDER_EXPORT void count_sampled_out() noexcept;
RANGEFINDER_EXPORT void count_lost_inputs() noexcept;
RANGEFINDER_EXPORT void count_lost_operator() noexcept;

}  // namespace rangefinder::detail
