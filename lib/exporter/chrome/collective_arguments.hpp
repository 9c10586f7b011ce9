// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <string>

namespace rangefinder::chrome {

/// What torch.profiler writes of a collective into the arguments of its kernel: members, each with the comma before it.
/// Analyses of communication look for these very keys. Empty where only the kernel's name is known.
std::string collective_arguments(const Timeline& timeline, CollectiveIndex collective);

}  // namespace rangefinder::chrome
