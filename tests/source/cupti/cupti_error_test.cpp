// SPDX-License-Identifier: MIT
#include "source/cupti/cupti_error.hpp"

#include "support/catch.hpp"

#include <string>

namespace rangefinder::source::cupti {

TEST_CASE("a failed call is described by what it means, its name and its number", "[source]") {
  CHECK(describe_failure("cuptiActivityEnable(MEMCPY)", CUPTI_ERROR_NOT_COMPATIBLE) ==
        "cuptiActivityEnable(MEMCPY): another CUPTI feature that excludes this one is active in this process "
        "(CUPTI_ERROR_NOT_COMPATIBLE, 14)");
  CHECK(describe_failure("cuptiSubscribe", static_cast<CUptiResult>(4711)) ==
        "cuptiSubscribe: an error that this version of rangefinder does not know (4711)");
}

TEST_CASE("errors that people can do something about say what", "[source]") {
  CHECK(std::string(error_text(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)).find("NVreg_RestrictProfilingToAdminUsers=0") !=
        std::string::npos);
  CHECK(std::string(error_text(CUPTI_ERROR_HARDWARE_BUSY)).find("dcgmi profile --pause") != std::string::npos);
  CHECK(std::string(error_text(CUPTI_ERROR_OUT_OF_MEMORY)).find("smaller") != std::string::npos);
}

TEST_CASE("every error of CUDA 13.0 that can reach us has its name", "[source]") {
  const std::pair<CUptiResult, const char*> names[] = {
#define NAMED(code) {code, #code}
      NAMED(CUPTI_ERROR_INVALID_PARAMETER),
      NAMED(CUPTI_ERROR_INVALID_DEVICE),
      NAMED(CUPTI_ERROR_INVALID_CONTEXT),
      NAMED(CUPTI_ERROR_INVALID_OPERATION),
      NAMED(CUPTI_ERROR_OUT_OF_MEMORY),
      NAMED(CUPTI_ERROR_HARDWARE),
      NAMED(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT),
      NAMED(CUPTI_ERROR_API_NOT_IMPLEMENTED),
      NAMED(CUPTI_ERROR_MAX_LIMIT_REACHED),
      NAMED(CUPTI_ERROR_NOT_READY),
      NAMED(CUPTI_ERROR_NOT_COMPATIBLE),
      NAMED(CUPTI_ERROR_NOT_INITIALIZED),
      NAMED(CUPTI_ERROR_QUEUE_EMPTY),
      NAMED(CUPTI_ERROR_INVALID_HANDLE),
      NAMED(CUPTI_ERROR_INVALID_KIND),
      NAMED(CUPTI_ERROR_DISABLED),
      NAMED(CUPTI_ERROR_HARDWARE_BUSY),
      NAMED(CUPTI_ERROR_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE),
      NAMED(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES),
      NAMED(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS),
      NAMED(CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE),
      NAMED(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
      NAMED(CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED),
      NAMED(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES),
      NAMED(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED),
      NAMED(CUPTI_ERROR_INVALID_CHIP_NAME),
      NAMED(CUPTI_ERROR_UNKNOWN),
      NAMED(CUPTI_SUCCESS)
#undef NAMED
  };
  for (const auto& [code, name] : names) {
    CAPTURE(name);
    CHECK(error_name(code) == name);
  }
}

}  // namespace rangefinder::source::cupti
