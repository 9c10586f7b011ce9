// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <string_view>

// What a component that watches a framework's operators tells the recorder, which knows none. Not for users.
namespace rangefinder::detail {

/// What there is to say of an operator as it begins.
struct OperatorFacts {
  /// The number that the thread's next node of autograd gets, as asked right now, or that of the node that it is; -1:
  /// none.
  std::int64_t sequence = -1;
  std::uint64_t made_on = 0;  ///< of a node: the thread that made it; else 0
  std::uint32_t inputs = 0;   ///< from intern_inputs; 0: none
  bool inputs_lost = false;   ///< there would have been some
};

/// Opens a range like begin_text, and records the facts with it: both or neither. Quickest for a name that the thread
/// finds at the same address again and again, as frameworks keep the names of their operators.
RANGEFINDER_EXPORT OpenRange begin_operator(const char* name, std::uint32_t category,
                                            const OperatorFacts& facts) noexcept;

/// The number of a text that tells inputs: shapes, types and values, each a JSON list, a line break between them. For
/// the life of the process; 0 when it is too long or there are too many: programs make shapes without end, and the
/// names of ranges need room.
RANGEFINDER_EXPORT std::uint32_t intern_inputs(std::string_view text) noexcept;

/// An operator was left out on purpose; for want of memory.
RANGEFINDER_EXPORT void count_sampled_out() noexcept;
RANGEFINDER_EXPORT void count_lost_operator() noexcept;

}  // namespace rangefinder::detail
