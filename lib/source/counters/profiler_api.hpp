// SPDX-License-Identifier: MIT
#pragma once

#include "base/library.hpp"

#include <rangefinder/result.hpp>

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rangefinder::source::counters {

// clang-format off
// Works without a device and without a driver.
#define RANGEFINDER_PROFILER_HOST(X)     \
  X(cuptiProfilerHostInitialize)         \
  X(cuptiProfilerHostDeinitialize)       \
  X(cuptiProfilerHostGetSupportedChips)  \
  X(cuptiProfilerHostConfigAddMetrics)   \
  X(cuptiProfilerHostGetConfigImageSize) \
  X(cuptiProfilerHostGetConfigImage)     \
  X(cuptiProfilerHostGetNumOfPasses)     \
  X(cuptiProfilerHostEvaluateToGpuValues)

#define RANGEFINDER_PROFILER_DEVICE(X) \
  X(cuptiProfilerInitialize)           \
  X(cuptiProfilerDeviceSupported)      \
  X(cuptiDeviceGetChipName)

#define RANGEFINDER_RANGE_PROFILER(X)            \
  X(cuptiRangeProfilerEnable)                    \
  X(cuptiRangeProfilerDisable)                   \
  X(cuptiRangeProfilerGetCounterDataSize)        \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerSetConfig)                 \
  X(cuptiRangeProfilerStart)                     \
  X(cuptiRangeProfilerStop)                      \
  X(cuptiRangeProfilerPushRange)                 \
  X(cuptiRangeProfilerPopRange)                  \
  X(cuptiRangeProfilerDecodeData)                \
  X(cuptiRangeProfilerGetCounterDataInfo)        \
  X(cuptiRangeProfilerCounterDataGetRangeInfo)

#define RANGEFINDER_PM_SAMPLING(X)            \
  X(cuptiPmSamplingEnable)                    \
  X(cuptiPmSamplingDisable)                   \
  X(cuptiPmSamplingGetCounterDataSize)        \
  X(cuptiPmSamplingCounterDataImageInitialize) \
  X(cuptiPmSamplingSetConfig)                 \
  X(cuptiPmSamplingStart)                     \
  X(cuptiPmSamplingStop)                      \
  X(cuptiPmSamplingDecodeData)                \
  X(cuptiPmSamplingGetCounterDataInfo)        \
  X(cuptiPmSamplingCounterDataGetSampleInfo)

// Of the driver; _v2 is how its library calls what cuda.h gives the plain name.
#define RANGEFINDER_PROFILER_DRIVER(X) \
  X(cuInit)                            \
  X(cuDeviceGetCount)                  \
  X(cuDeviceGetName)                   \
  X(cuDeviceGetAttribute)              \
  X(cuDeviceTotalMem_v2)               \
  X(cuDevicePrimaryCtxGetState)        \
  X(cuCtxGetCurrent)                   \
  X(cuCtxGetDevice)                    \
  X(cuCtxPushCurrent_v2)               \
  X(cuCtxPopCurrent_v2)
// clang-format on

/// One pointer for each entry point of CUPTI's profilers and of the driver that we call. Null where the library does
/// not have it; `missing_for_...` says so in words.
struct ProfilerApi {
#define RANGEFINDER_PROFILER_MEMBER(function) decltype(&::function) function = nullptr;
  RANGEFINDER_PROFILER_HOST(RANGEFINDER_PROFILER_MEMBER)
  RANGEFINDER_PROFILER_DEVICE(RANGEFINDER_PROFILER_MEMBER)
  RANGEFINDER_RANGE_PROFILER(RANGEFINDER_PROFILER_MEMBER)
  RANGEFINDER_PM_SAMPLING(RANGEFINDER_PROFILER_MEMBER)
  RANGEFINDER_PROFILER_DRIVER(RANGEFINDER_PROFILER_MEMBER)
#undef RANGEFINDER_PROFILER_MEMBER

  std::string path;        ///< the file that CUPTI came from
  bool simulated = false;  ///< a test double, not NVIDIA's
};

/// Parameters of a call, all zeros but for their size, by which CUPTI knows the version.
template <typename Params>
Params sized(std::size_t size) noexcept {
  Params params{};
  params.structSize = size;
  return params;
}

/// Finds CUPTI as activity recording does (source/cupti), and the driver beside it.
///
/// Errors: kNotFound without a driver or CUPTI, kUnsupported with a CUPTI that lacks these profilers: in one line, with
///         what to do.
Result<ProfilerApi> load_profiler();

/// Fills the table from a library; the driver's functions from `driver`. Any may be missing.
ProfilerApi bind_profiler(const base::Library& library, const base::Library* driver);

/// kUnsupported, with the first function that is missing, where the library cannot resolve metrics, count ranges, or
/// sample.
Status check_host(const ProfilerApi& api);
Status check_range_profiler(const ProfilerApi& api);
Status check_pm_sampling(const ProfilerApi& api);

}  // namespace rangefinder::source::counters
