// SPDX-License-Identifier: MIT
#include "source/cupti/cupti_error.hpp"

namespace rangefinder::source::cupti {
namespace {

struct Entry {
  int code;
  std::string_view name;
  std::string_view text;
};

constexpr Entry kEntries[] = {
    {1, "CUPTI_ERROR_INVALID_PARAMETER", "CUPTI rejected a parameter: please report this with the CUPTI version"},
    {2, "CUPTI_ERROR_INVALID_DEVICE", "no such device"},
    {3, "CUPTI_ERROR_INVALID_CONTEXT", "no such CUDA context"},
    {7, "CUPTI_ERROR_INVALID_OPERATION", "not possible in CUPTI's present state"},
    {8, "CUPTI_ERROR_OUT_OF_MEMORY", "out of host or device memory: use smaller activity buffers"},
    {9, "CUPTI_ERROR_HARDWARE", "the device reported an error"},
    {10, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT", "needs a newer CUPTI"},
    {11, "CUPTI_ERROR_API_NOT_IMPLEMENTED", "needs a newer CUPTI"},
    {12, "CUPTI_ERROR_MAX_LIMIT_REACHED", "a limit of CUPTI is reached"},
    {13, "CUPTI_ERROR_NOT_READY", "busy: try again"},
    {14, "CUPTI_ERROR_NOT_COMPATIBLE", "another CUPTI feature that excludes this one is active in this process"},
    {15, "CUPTI_ERROR_NOT_INITIALIZED", "the driver is too old for this CUPTI, or is not initialised"},
    {18, "CUPTI_ERROR_QUEUE_EMPTY", "CUPTI's queue is empty"},
    {19, "CUPTI_ERROR_INVALID_HANDLE", "CUPTI no longer knows this handle"},
    {21, "CUPTI_ERROR_INVALID_KIND", "this CUPTI does not have this kind of record"},
    {23, "CUPTI_ERROR_DISABLED", "another profiler has disabled it"},
    {26, "CUPTI_ERROR_HARDWARE_BUSY",
     "another tool uses the counters: `dcgmi profile --pause` makes DCGM release them"},
    {27, "CUPTI_ERROR_NOT_SUPPORTED", "this device, or this CUPTI, does not support it"},
    {28, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED", "unified memory cannot be traced here"},
    {29, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE", "unified memory cannot be traced on this device"},
    {30, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES",
     "unified memory cannot be traced between devices without peer access"},
    {31, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS", "unified memory cannot be traced under MPS"},
    {32, "CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED", "kernels launched by kernels cannot be traced here"},
    {33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED", "virtual GPU: its host must allow profiling"},
    {34, "CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE", "the program was compiled by a CUDA compiler CUPTI cannot trace"},
    {35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
     "the driver reserves this to administrators: run with CAP_SYS_ADMIN, or load the driver with "
     "NVreg_RestrictProfilingToAdminUsers=0"},
    {36, "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED", "the old profiler API is active in this process"},
    {38, "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED", "removed from this CUPTI"},
    {39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "another profiler holds CUPTI in this process"},
    {40, "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES", "virtual GPU: its host must allow profiling"},
    {41, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED", "not possible in confidential computing mode"},
    {42, "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED", "mining cards (CMP) cannot be profiled"},
    {43, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED", "not possible on a MIG instance"},
    {44, "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED", "not possible on devices linked by SLI"},
    {45, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED", "not possible under WSL with this driver"},
    {46, "CUPTI_ERROR_INVALID_CHIP_NAME", "CUPTI does not know this chip"},
    {999, "CUPTI_ERROR_UNKNOWN", "unknown reason; please report this with the driver and CUPTI versions"},
};

const Entry* find(CUptiResult result) noexcept {
  for (const Entry& entry : kEntries) {
    if (entry.code == static_cast<int>(result)) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string_view error_name(CUptiResult result) noexcept {
  if (result == CUPTI_SUCCESS) return "CUPTI_SUCCESS";
  const Entry* entry = find(result);
  return entry != nullptr ? entry->name : std::string_view();
}

std::string_view error_text(CUptiResult result) noexcept {
  const Entry* entry = find(result);
  return entry != nullptr ? entry->text : std::string_view("an error that this version of rangefinder does not know");
}

std::string describe_failure(std::string_view call, CUptiResult result) {
  std::string text(call);
  text.append(": ").append(error_text(result)).append(" (");
  if (const std::string_view name = error_name(result); !name.empty()) text.append(name).append(", ");
  return text.append(std::to_string(static_cast<int>(result))).append(")");
}

}  // namespace rangefinder::source::cupti
