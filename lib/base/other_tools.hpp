// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::base {

/// What CUDA and NVTX load for `rangefinder record`; it stands beside librangefinder.so.
inline constexpr std::string_view kInjectionFile = "librangefinder_injection.so";

/// The profiler plugin of NCCL, beside it, and the variable that names the one that NCCL loads.
inline constexpr std::string_view kNcclPluginFile = "libnccl-profiler-rangefinder.so";
inline constexpr const char* kNcclVariable = "NCCL_PROFILER_PLUGIN";
/// Whether that value of the variable is ours, wherever it lies.
bool is_own_nccl_plugin(std::string_view value) noexcept;

/// The library that such a variable (NVTX_INJECTION64_PATH, CUDA_INJECTION64_PATH) has loaded; empty where it is our
/// own.
std::string_view other_library(const char* variable) noexcept;

/// A profiler or debugger that works on this process, or will once it uses CUDA.
struct OtherTool {
  std::string name;         ///< "Nsight Systems", or the path of its library
  std::string sign;         ///< what gave it away: a variable of the environment, or "debugger"
  bool only_hears = false;  ///< NVTX is all that it is known to use; CUPTI may be free

  /// "Nsight Systems (NSYS_PROFILING_SESSION_ID)", fit for a terminal.
  std::string text() const;
};

/// Known tools first, each once, then libraries that CUDA and NVTX are told to load; never our own. In a setuid program
/// the environment is not looked at.
std::vector<OtherTool> other_tools();

}  // namespace rangefinder::base
