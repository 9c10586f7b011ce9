// SPDX-License-Identifier: MIT
#pragma once

#include "report/view.hpp"

#include <span>

namespace rangefinder::report::nsight {

/// The views under Nsight's names, in the order in which `--view help` lists them.
std::span<const View> views() noexcept;

}  // namespace rangefinder::report::nsight
