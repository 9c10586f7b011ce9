// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <functional>
#include <string_view>

namespace rangefinder::timeline {

/// True for the threads on which LibTorch's engine runs nodes and nothing else: their names say so.
bool is_engine_thread(std::string_view name) noexcept;

/// The engine adds up gradients between two nodes, outside of both: on a thread of its own a node lasts until the next
/// one begins. The rows from `first` on are in order of thread, begin, and end, the last ends first.
void last_until_the_next(AutogradNodeTable& nodes, std::size_t first,
                         const std::function<bool(ThreadIndex)>& is_engine);

}  // namespace rangefinder::timeline
