// SPDX-License-Identifier: MIT
#include "source/cupti/callback_ids.hpp"

#include <algorithm>
#include <array>

namespace rangefinder::source::cupti {
namespace {

bool starts_with_any(std::string_view text, const auto& prefixes) noexcept {
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](std::string_view p) { return text.starts_with(p); });
}

// "cudaLaunchKernel_ptsz_v7000" and "__cudaLaunchKernel_v13000" -> "LaunchKernel..."; "cu64MemcpyHtoD" -> "MemcpyHtoD".
std::string_view without_prefix(std::string_view function) noexcept {
  for (const std::string_view prefix : {"__cuda", "cuda", "cu64", "cu"}) {
    if (function.starts_with(prefix)) return function.substr(prefix.size());
  }
  return {};
}

// "cudaGetDevice_v3020", "cuStreamIsCapturing_ptsz" -> the name people write.
std::string_view without_version(std::string_view function) noexcept {
  for (;;) {
    const std::size_t at = function.rfind('_');
    if (at == std::string_view::npos || at < 3) return function;
    const std::string_view tail = function.substr(at + 1);
    const bool version = tail.size() > 1 && tail[0] == 'v' &&
                         std::all_of(tail.begin() + 1, tail.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!version && tail != "ptsz" && tail != "ptds") return function;
    function = function.substr(0, at);
  }
}

}  // namespace

bool causes_device_work(std::string_view function) noexcept {
  static constexpr std::array<std::string_view, 6> kWork = {"Launch", "GraphLaunch", "Memcpy",
                                                            "Memset", "MemPrefetch", "MemDiscardAndPrefetch"};
  const std::string_view name = without_prefix(function);
  // A host function runs on the CPU: CUPTI has no device record for it.
  return starts_with_any(name, kWork) && !name.starts_with("LaunchHostFunc");
}

bool makes_graph_node(std::string_view function) noexcept {
  const std::string_view name = without_prefix(function);
  return name.starts_with("GraphAdd") && name.find("Node") != std::string_view::npos;
}

bool copies_graph(std::string_view function) noexcept {
  static constexpr std::array<std::string_view, 4> kCopies = {"GraphInstantiate", "GraphAddChildGraphNode",
                                                              "GraphAddNode", "GraphClone"};
  return starts_with_any(without_prefix(function), kCopies);
}

bool updates_graph(std::string_view function) noexcept {
  return without_prefix(function).starts_with("GraphExecUpdate");
}

bool makes_condition(std::string_view function) noexcept {
  return without_prefix(function).starts_with("GraphConditionalHandleCreate");
}

bool begins_capture(std::string_view function) noexcept {
  static constexpr std::array<std::string_view, 2> kBegins = {"StreamBeginCapture", "StreamBeginRecapture"};
  return starts_with_any(without_prefix(function), kBegins);
}

bool ends_capture(std::string_view function) noexcept {
  return without_prefix(function).starts_with("StreamEndCapture");
}

bool is_noisy(std::string_view function) noexcept {
  // Queries and thread-local settings that frameworks make around every launch or allocation: several for each kernel,
  // and none takes time that matters. The first four are what Kineto leaves out; the rest are of the same sort.
  // clang-format off
  static constexpr std::array<std::string_view, 31> kNoise = {
      "cudaGetDevice", "cuKernelGetAttribute", "cuDevicePrimaryCtxGetState", "cuCtxGetCurrent",
      "cudaSetDevice", "cudaGetDeviceCount", "cudaGetLastError", "cudaPeekAtLastError", "cudaDeviceGetAttribute",
      "cudaFuncGetAttributes", "cudaPointerGetAttributes", "cudaStreamIsCapturing", "cudaStreamGetCaptureInfo",
      "cudaThreadExchangeStreamCaptureMode", "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
      "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "__cudaPushCallConfiguration",
      "__cudaPopCallConfiguration", "__cudaGetProcAddress", "cuCtxSetCurrent", "cuCtxGetDevice", "cuCtxPushCurrent",
      "cuCtxPopCurrent", "cuDeviceGetAttribute", "cuFuncGetAttribute", "cuGetProcAddress", "cuPointerGetAttribute",
      "cuPointerGetAttributes", "cuStreamIsCapturing", "cuStreamGetCaptureInfo", "cuThreadExchangeStreamCaptureMode"};
  // clang-format on
  const std::string_view name = without_version(function);
  return std::find(kNoise.begin(), kNoise.end(), name) != kNoise.end();
}

CallbackNames::CallbackNames(const CuptiApi& api, CUpti_CallbackDomain domain) {
  // Ids are dense today. A small gap is tolerated, and a library that names everything does not keep us here.
  constexpr std::uint32_t kWidestGap = 64;
  for (std::uint32_t id = 0; id < kMaxCallbackIds && id < names_.size() + kWidestGap; ++id) {
    const char* name = nullptr;
    if (api.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) continue;
    names_.resize(id + 1);
    names_[id] = name;
  }
}

std::vector<std::uint32_t> CallbackNames::ids(bool (*wanted)(std::string_view) noexcept) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t id = 0; id < names_.size(); ++id) {
    if (wanted(names_[id])) found.push_back(id);
  }
  return found;
}

}  // namespace rangefinder::source::cupti
