// SPDX-License-Identifier: MIT
#pragma once

#include "format/node_note.hpp"

#include <cstdint>

namespace rangefinder::timeline {

/// Of a launch's callback, as the recorder writes it: a graph's, which causes any number of activities. CUPTI keeps
/// such numbers for ever (cupti_runtime_cbid.h, cupti_driver_cbid.h); the recorder marks those of the driver.
constexpr bool is_graph_launch(std::uint32_t callback) noexcept {
  constexpr std::uint32_t kDriverCallback = 1u << 23;
  return callback == 311 || callback == 312 || callback == (kDriverCallback | 514) ||
         callback == (kDriverCallback | 515);
}

/// LaunchTable::correlation of what made a node of a graph and has no correlation id; apart from all that are.
constexpr std::uint64_t node_note_key(std::uint32_t number) noexcept { return format::node_note_key(number); }
/// Such numbers are in no order with correlation ids.
constexpr bool is_node_note_key(std::uint64_t correlation) noexcept { return format::is_node_note_key(correlation); }

}  // namespace rangefinder::timeline
