// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/event.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>

namespace rangefinder::importer::kineto {

/// What torch.profiler's profile_memory writes, an instant each.
constexpr bool is_memory_event(std::string_view name) noexcept { return name == "[memory]" || name == "[OutOfMemory]"; }

/// A row for the event. False, and no row, where it says no time or no number of bytes.
bool add_memory_event(const Event& event, ThreadIndex thread, std::int64_t source_row, AllocatorEventTable& table);

}  // namespace rangefinder::importer::kineto
