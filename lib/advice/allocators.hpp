// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"
#include "advice/evidence.hpp"
#include "analysis/allocator_counts.hpp"

#include <cstdint>
#include <vector>

// What rules about memory of devices share.
namespace rangefinder::advice {

/// Whether any count says how often the allocator tried again.
bool counts_retries(const std::vector<analysis::CountedDevice>& devices) noexcept;
/// By how much the counts of retries grew in frames, of all devices.
std::int64_t retries_of(Context& context, const std::vector<analysis::CountedDevice>& devices);

/// CUDA's calls that allocate and free, in frames.
void add_allocation_calls(Context& context, EvidenceTable& evidence);

}  // namespace rangefinder::advice
