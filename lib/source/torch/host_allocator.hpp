// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/torch/memory.hpp>

#include <string>

namespace rangefinder::torch {

/// Puts our allocator around LibTorch's for the host, once, and lets it record until `stop_host` was called as often.
/// Empty, or why it cannot.
std::string start_host();
void stop_host() noexcept;
/// Writes host_memory() as counters.
void count_host() noexcept;

}  // namespace rangefinder::torch
