// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <string_view>

// What a component that knows a framework's autograd tells the recorder, which knows none. Not for users.
namespace rangefinder::detail {

/// Every node takes the next number of the thread that makes it. While a session records, ranges note how far the
/// numbers of their thread are, so that the range in which a node was made can be told from its number alone.
struct AutogradHooks {
  std::uint64_t (*next_sequence)();  ///< what the next node made on the calling thread gets; called at both ends of
                                     ///< every range, in signal handlers too
  std::uint64_t (*thread_number)();  ///< the calling thread, as nodes name the one that made them
};

/// Once, for the life of the process; `hooks` must stay. From then on, while a session with SessionOptions::autograd
/// records, ranges ask for the number at both ends and note it where it has changed.
RANGEFINDER_EXPORT void set_autograd_hooks(const AutogradHooks* hooks) noexcept;

/// The calling thread runs a node from here on, inside the one that it ran before. `sequence`: its number, -1 when it
/// has none; `forward_thread`: the thread that made it. True when it was recorded: `node_end` must follow.
RANGEFINDER_EXPORT bool node_begin(std::string_view name, std::int64_t sequence, std::uint64_t forward_thread) noexcept;
RANGEFINDER_EXPORT void node_end() noexcept;

}  // namespace rangefinder::detail
