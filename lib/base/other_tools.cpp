// SPDX-License-Identifier: MIT
#include "base/other_tools.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace rangefinder::base {
namespace {

struct Known {
  const char* variable;
  const char* name;
};

// What the tools set for the programs that they start; names by versions of several years.
constexpr Known kKnown[] = {{"NSYS_PROFILING_SESSION_ID", "Nsight Systems"},
                            {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"},
                            {"NV_SANITIZER_INJECTION_PORT_BASE", "compute-sanitizer"},
                            {"NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", "compute-sanitizer"}};

std::string_view environment(const char* name) noexcept {
  const char* const value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

std::string tracer() {
  std::ifstream status("/proc/self/status");
  const std::string key = "TracerPid:\t";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    std::ifstream file("/proc/" + line.substr(key.size()) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
  }
  return {};
}

}  // namespace

std::string_view other_library(const char* variable) noexcept {
  const std::string_view path = environment(variable);
  return path.substr(path.rfind('/') + 1).starts_with(kInjectionFile) ? std::string_view() : path;
}

bool is_own_nccl_plugin(std::string_view value) noexcept {
  // NCCL puts libnccl-profiler- before a short name, and .so behind it.
  return value == "rangefinder" || value.substr(value.rfind('/') + 1) == kNcclPluginFile;
}

std::string OtherTool::text() const { return printable(name) + " (" + sign + ")"; }

std::vector<OtherTool> other_tools() {
  std::vector<OtherTool> tools;
  for (const Known& known : kKnown) {
    const bool said = std::any_of(tools.begin(), tools.end(), [&](const OtherTool& t) { return t.name == known.name; });
    if (!said && !environment(known.variable).empty()) tools.push_back({known.name, known.variable});
  }
  if (tracer().starts_with("cuda-gdb")) tools.push_back({"cuda-gdb", "debugger"});
  for (const char* variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    if (const std::string_view path = other_library(variable); !path.empty())
      tools.push_back({std::string(path), variable, std::string_view(variable).starts_with("NVTX")});
  }
  return tools;
}

}  // namespace rangefinder::base
