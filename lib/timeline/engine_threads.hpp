// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rangefinder::timeline {

/// True for the threads on which LibTorch's engine runs nodes and nothing else: their names say so.
bool is_engine_thread(std::string_view name) noexcept;

}  // namespace rangefinder::timeline
