// SPDX-License-Identifier: MIT
#include "base/other_tools.hpp"

#include "support/catch.hpp"
#include "support/environment.hpp"

using namespace rangefinder::base;
using rangefinder::testing::Environment;

namespace {

std::string texts() {
  std::string out;
  for (const OtherTool& tool : other_tools()) out += (out.empty() ? "" : ", ") + tool.text();
  return out;
}

}  // namespace

TEST_CASE("other tools are known by what they set for the programs that they start", "[base]") {
  const Environment nothing[] = {{"CUDA_INJECTION64_PATH", nullptr},
                                 {"NVTX_INJECTION64_PATH", nullptr},
                                 {"NSYS_PROFILING_SESSION_ID", nullptr},
                                 {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", nullptr},
                                 {"NV_SANITIZER_INJECTION_PORT_BASE", nullptr},
                                 {"NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", nullptr}};
  REQUIRE(texts().empty());
  SECTION("Nsight Systems, with the library that CUDA and NVTX load") {
    const Environment session("NSYS_PROFILING_SESSION_ID", "4711");
    const Environment cuda("CUDA_INJECTION64_PATH", "/opt/nsys/libToolsInjection64.so");
    CHECK(texts() ==
          "Nsight Systems (NSYS_PROFILING_SESSION_ID), /opt/nsys/libToolsInjection64.so (CUDA_INJECTION64_PATH)");
    CHECK_FALSE(other_tools().front().only_hears);
  }
  SECTION("Nsight Compute") {
    const Environment folder("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "/opt/ncu");
    CHECK(texts() == "Nsight Compute (NV_COMPUTE_PROFILER_PERFWORKS_DIR)");
  }
  SECTION("compute-sanitizer, once") {
    const Environment older("NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", "49152");
    CHECK(texts() == "compute-sanitizer (NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN)");
    const Environment newer("NV_SANITIZER_INJECTION_PORT_BASE", "49152");
    CHECK(texts() == "compute-sanitizer (NV_SANITIZER_INJECTION_PORT_BASE)");
  }
  SECTION("one that hears NVTX may leave CUPTI alone") {
    const Environment path("NVTX_INJECTION64_PATH", "/opt/t\x1bool.so");
    CHECK(texts() == "/opt/t\\x1bool.so (NVTX_INJECTION64_PATH)");
    CHECK(other_tools().front().only_hears);
  }
  SECTION("our own injection is none") {
    const Environment nvtx("NVTX_INJECTION64_PATH", "/usr/lib/librangefinder_injection.so");
    const Environment cuda("CUDA_INJECTION64_PATH", "librangefinder_injection.so.0");
    CHECK(texts().empty());
    const Environment other("CUDA_INJECTION64_PATH", "/librangefinder_injection.so/other.so");
    CHECK(texts() == "/librangefinder_injection.so/other.so (CUDA_INJECTION64_PATH)");
  }
}
