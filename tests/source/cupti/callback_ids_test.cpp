// SPDX-License-Identifier: MIT
#include "source/cupti/callback_ids.hpp"

#include "cupti_fixture.hpp"

#include <algorithm>

namespace rangefinder::source::testing {

using cupti::CallbackNames;
using cupti::causes_device_work;
using cupti::is_noisy;

TEST_CASE("launches, copies, sets and prefetches cause device work", "[source]") {
  for (const char* function : {"cudaLaunchKernel_v7000",
                               "cudaLaunchKernel_ptsz_v7000",
                               "__cudaLaunchKernel_v13000",
                               "cudaLaunchKernelExC_v11060",
                               "cudaLaunchCooperativeKernel_v9000",
                               "cudaLaunchCooperativeKernelMultiDevice_v9000",
                               "cudaGraphLaunch_v10000",
                               "cudaMemcpyAsync_v3020",
                               "cudaMemcpyPeerAsync_v4000",
                               "cudaMemcpyBatchAsync_v13000",
                               "cudaMemset2DAsync_v3020",
                               "cudaMemPrefetchAsync_v12020",
                               "cudaMemDiscardAndPrefetchBatchAsync_v13000",
                               "cuLaunchKernel",
                               "cuLaunchKernelEx_ptsz",
                               "cuLaunchGridAsync",
                               "cuGraphLaunch_ptsz",
                               "cuMemcpyHtoDAsync_v2",
                               "cu64MemcpyHtoD",
                               "cuMemcpy3DPeerAsync",
                               "cuMemsetD32Async",
                               "cuMemPrefetchBatchAsync"}) {
    CAPTURE(function);
    CHECK(causes_device_work(function));
    CHECK_FALSE(is_noisy(function));
  }
}

TEST_CASE("other functions do not", "[source]") {
  for (const char* function :
       {"cudaMalloc_v3020", "cudaGraphAddMemcpyNode_v10000", "cudaGraphExecMemsetNodeSetParams_v10020",
        "cuMemSetAccess", "cudaMemSetMemPool_v13000", "cuLaunchHostFunc", "cudaLaunchHostFunc_ptsz_v10000",
        "cuStreamSynchronize", "cuGraphUpload", "cudaEventRecord_v3020", "cuGetErrorName", "INVALID", "", "cu", "cuda",
        "Launch", "MemcpyAsync"}) {
    CAPTURE(function);
    CHECK_FALSE(causes_device_work(function));
  }
}

TEST_CASE("noise is known by name whatever the version", "[source]") {
  for (const char* function :
       {"cudaGetDevice_v3020", "cudaGetLastError_v3020", "cuCtxGetCurrent", "cuCtxPopCurrent_v2",
        "cudaStreamIsCapturing_ptsz_v10000", "cuKernelGetAttribute", "cuDevicePrimaryCtxGetState",
        "__cudaPushCallConfiguration_v13000", "cudaStreamGetCaptureInfo_v2_ptsz_v11030"}) {
    CAPTURE(function);
    CHECK(is_noisy(function));
  }
  for (const char* function :
       {"cudaEventQuery_v3020", "cudaMalloc_v3020", "cudaDeviceSynchronize_v3020", "cuModuleLoad", "_v2", "", "v1"}) {
    CAPTURE(function);
    CHECK_FALSE(is_noisy(function));
  }
}

TEST_CASE("ids are found by the names that the library gives", "[source]") {
  fakecupti_reset();
  const CuptiApi api = fake_api();
  const CallbackNames runtime(api, CUPTI_CB_DOMAIN_RUNTIME_API);
  const CallbackNames driver(api, CUPTI_CB_DOMAIN_DRIVER_API);
  CHECK(runtime.name(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) == "cudaLaunchKernel_v7000");
  CHECK(driver.name(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx) == "cuLaunchKernelEx");
  CHECK(runtime.name(1'000'000).empty());
  const auto launches = runtime.ids(&causes_device_work);
  CHECK(std::find(launches.begin(), launches.end(), CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000) != launches.end());
  CHECK(launches.size() > 50);
  CHECK(driver.ids(&causes_device_work).size() > 100);
}

TEST_CASE("the double names functions as NVIDIA's library does", "[source]") {
  if (real_cupti() == nullptr) RANGEFINDER_SKIP("NVIDIA's libcupti.so.13 is not beside the headers");
  fakecupti_reset();
  const CuptiApi api = fake_api();
  for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    const CallbackNames ours(api, domain), theirs(*real_cupti(), domain);
    REQUIRE(theirs.size() > 400);
    // A library that is not of the headers' version may have more.
    for (std::uint32_t id = 0; id < std::min(ours.size(), theirs.size()); ++id)
      REQUIRE(ours.name(id) == theirs.name(id));
  }
}

TEST_CASE("a library that names everything, or nothing, is bearable", "[source][fault]") {
  CuptiApi api;
  api.cuptiGetCallbackName = +[](CUpti_CallbackDomain, std::uint32_t, const char** name) -> CUptiResult {
    *name = "cuLaunchKernel";
    return CUPTI_SUCCESS;
  };
  CHECK(CallbackNames(api, CUPTI_CB_DOMAIN_DRIVER_API).size() == 8192);
  api.cuptiGetCallbackName =
      +[](CUpti_CallbackDomain, std::uint32_t, const char**) -> CUptiResult { return CUPTI_ERROR_UNKNOWN; };
  CHECK(CallbackNames(api, CUPTI_CB_DOMAIN_DRIVER_API).size() == 0);
}

}  // namespace rangefinder::source::testing
