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

/// "cpu_intel_xeon_platinum_8481c" of that key: a process may use fewer processors than there are.
std::string_view cpu_model(std::string_view key) noexcept;

/// "cpu_x86_64_avx512", "cpu_x86_64_avx2", "cpu_aarch64": the architecture, and on x86-64 the vector instructions by
/// which libraries choose their kernels (levels v4 and v3 of the x86-64 ABI). Ratios of programs carry over within a
/// family, times do not.
std::string cpu_family();
/// `architecture` as uname tells it, `flags` as /proc/cpuinfo does.
std::string cpu_family(std::string_view architecture, std::string_view flags);

/// "h200", "intel_xeon_platinum_8481c_cpu": a name of hardware without its vendor's noise, as a key.
std::string hardware_slug(std::string_view name);

}  // namespace rangefinder::base
