// SPDX-License-Identifier: MIT
#pragma once

#include "base/library.hpp"

#include <rangefinder/result.hpp>

#include <cupti.h>

#include <cstddef>  // cupti.h uses size_t and needs it declared first
#include <cstdint>
#include <string>

namespace rangefinder::source::cupti {

// clang-format off
// Without one of these there is no device activity.
#define RANGEFINDER_CUPTI_REQUIRED(X) \
  X(cuptiGetVersion)                  \
  X(cuptiGetTimestamp)                \
  X(cuptiGetCallbackName)             \
  X(cuptiSubscribe)                   \
  X(cuptiUnsubscribe)                 \
  X(cuptiEnableCallback)              \
  X(cuptiActivityRegisterCallbacks)   \
  X(cuptiActivityEnable)              \
  X(cuptiActivityDisable)             \
  X(cuptiActivityFlushAll)            \
  X(cuptiActivityGetNextRecord)       \
  X(cuptiActivityGetNumDroppedRecords)

// Null where the library is too old for it; the feature is off then.
#define RANGEFINDER_CUPTI_OPTIONAL(X)  \
  X(cuptiSubscribe_v2)                 \
  X(cuptiGetGraphNodeId)               \
  X(cuptiGetGraphId)                   \
  X(cuptiGetGraphExecId)               \
  X(cuptiSetThreadIdType)              \
  X(cuptiActivitySetAttribute)         \
  X(cuptiActivityEnableAndDump)        \
  X(cuptiActivityEnableRuntimeApi)     \
  X(cuptiActivityEnableDriverApi)      \
  X(cuptiActivityEnableAllSyncRecords) \
  X(cuptiActivityEnableLatencyTimestamps)
// clang-format on

/// One pointer for each CUPTI entry point that we call. `load_cupti` fills it from the library of this process; a test
/// may replace any of them.
struct CuptiApi {
#define RANGEFINDER_CUPTI_MEMBER(function) decltype(&::function) function = nullptr;
  RANGEFINDER_CUPTI_REQUIRED(RANGEFINDER_CUPTI_MEMBER)
  RANGEFINDER_CUPTI_OPTIONAL(RANGEFINDER_CUPTI_MEMBER)
#undef RANGEFINDER_CUPTI_MEMBER

  std::string path;                  ///< the file it came from
  std::uint32_t version = 0;         ///< as cuptiGetVersion says: 18..28 for CUDA 11.8..12.9.1, then 130001 for 13.0.1
  std::uint32_t driver_version = 0;  ///< as cuDriverGetVersion says; 0 where no driver was looked for
  bool simulated = false;            ///< a test double, not NVIDIA's
  bool cuda_in_use = false;          ///< CUDA was initialised before this library was looked for
};

/// CUPTI versions that matter here.
// CUDA 12.0, and 12.1, which says 18 as 11.8 does (seen on 12.1.105); only libraries of CUDA 12 and 13 are looked for.
inline constexpr std::uint32_t kOldestCupti = 18;
inline constexpr std::uint32_t kRefusalIsSafe = 27;            // CUDA 12.9: a null buffer no longer crashes CUPTI
inline constexpr std::uint32_t kCorrelationsSurvive = 130101;  // CUDA 13.1 update 1: graph launches after re-enabling
inline constexpr std::uint32_t kNewestMajor = 13;              // that was tried

/// "13.0.1", "12.8", "11.8 or older".
std::string version_text(std::uint32_t version);

/// CUPTI, found but not looked into.
struct CuptiLibrary {
  base::Library library;
  std::uint32_t driver_version = 0;  ///< as in CuptiApi
  bool cuda_in_use = false;          ///< likewise
};

/// Told by what cuInit calls: until it is told otherwise, CUDA is being initialised, and its driver must not be asked.
void cuda_is_initializing(bool now) noexcept;

/// What load_cupti opens, with the same errors.
Result<CuptiLibrary> find_cupti();

/// CUPTI is theirs where a profiler or debugger has started the program, also where we would be the first to ask for
/// it: an error names it. A tool that is known to hear NVTX alone is none.
Status check_left_to_others();

/// Finds the driver and then CUPTI: the copy that the process holds already (LibTorch brings one), then by soname, then
/// in CUDA_HOME and CUDA_PATH, then where this library was built. RANGEFINDER_CUPTI_LIBRARY names one file instead and
/// asks for no driver. The environment is ignored in a program that runs with raised rights.
/// The error says in one line what is missing and what to do.
Result<CuptiApi> load_cupti();

/// Fills the table from a library.
Result<CuptiApi> bind_cupti(const base::Library& library);

}  // namespace rangefinder::source::cupti
