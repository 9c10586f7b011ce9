// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

// Where a figure was measured: figures of two machines are never compared.
namespace rangefinder::base {

/// "cpu_intel_xeon_platinum_8481c_2t": the model that /proc/cpuinfo tells, in its way, and the processors this process
/// may use.
std::string cpu_key();
std::string cpu_key(std::string_view model, unsigned processors);

/// "h200", "intel_xeon_platinum_8481c_cpu": a name of hardware without its vendor's noise, as a key.
std::string hardware_slug(std::string_view name);

}  // namespace rangefinder::base
