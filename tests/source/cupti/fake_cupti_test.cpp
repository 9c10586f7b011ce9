// SPDX-License-Identifier: MIT
#include "cupti_fixture.hpp"
#include "support/files.hpp"

#include <elf.h>
#include <link.h>

#include <cstdio>
#include <fstream>
#include <iterator>

// The double itself: that it is where it pretends to be, and that NVIDIA's parser reads what it writes.
namespace rangefinder::source::testing {

TEST_CASE("the double has the name, soname and version node of the real library", "[source]") {
  const std::string bytes = read_file(FAKE_CUPTI_PATH);
  REQUIRE(bytes.size() > sizeof(Elf64_Ehdr));
  const auto library = base::Library::open(FAKE_CUPTI_PATH);
  REQUIRE(library.ok());
  CHECK(library->symbol("cuptiActivityFlushAll") != nullptr);
  CHECK(base::Library::open("libcupti.so.13", true).ok());  // found by soname, as LibTorch's copy is
  CHECK(bytes.find(std::string("libcupti.so.13\0", 15)) != std::string::npos);
}

TEST_CASE("what LibTorch 2.11 binds when it is loaded is there", "[source]") {
  const auto library = base::Library::open(FAKE_CUPTI_PATH);
  REQUIRE(library.ok());
  for (const char* name : {"cuptiActivityDisable",
                           "cuptiActivityEnable",
                           "cuptiActivityEnableCudaEventDeviceTimestamps",
                           "cuptiActivityEnableDriverApi",
                           "cuptiActivityEnableRuntimeApi",
                           "cuptiActivityFlushAll",
                           "cuptiActivityGetNextRecord",
                           "cuptiActivityGetNumDroppedRecords",
                           "cuptiActivityPopExternalCorrelationId",
                           "cuptiActivityPushExternalCorrelationId",
                           "cuptiActivityRegisterCallbacks",
                           "cuptiActivityRegisterTimestampCallback",
                           "cuptiActivitySetAttribute",
                           "cuptiEnableCallback",
                           "cuptiEnableDomain",
                           "cuptiFinalize",
                           "cuptiGetResultString",
                           "cuptiGetVersion",
                           "cuptiSubscribe",
                           "cuptiUnsubscribe"}) {
    CAPTURE(name);
    CHECK(library->symbol(name) != nullptr);
  }
}

TEST_CASE("kernels of one stream queue up and streams run beside each other", "[source]") {
  CuptiProcess process;
  fakecupti_set_manual_clock(kNoon);
  fakecupti_set_launch_latency(2'000);
  CuptiRecording recording(process);
  FakeKernel k = kernel("k", 10'000);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  fakecupti_advance(1'000);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  k.stream = 13;
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  fakecupti_synchronize("cudaDeviceSynchronize_v3020", 1, 0xFFFFFFFFu);
  CHECK(fakecupti_now() == kNoon + 22'000);
  recording.stop();
  REQUIRE(recording.kernels.size() == 3);
  const auto t = static_cast<std::int64_t>(kNoon);
  CHECK((recording.kernels[0].begin_ns == t + 2'000 && recording.kernels[0].end_ns == t + 12'000));
  CHECK((recording.kernels[1].begin_ns == t + 12'000 && recording.kernels[1].end_ns == t + 22'000));
  CHECK((recording.kernels[2].begin_ns == t + 3'000 && recording.kernels[2].end_ns == t + 13'000));
}

TEST_CASE("a flush hands out a buffer only when all in it is done", "[source]") {
  CuptiProcess process;
  fakecupti_set_manual_clock(kNoon);
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k", 10'000);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.flush();
  CHECK(recording.kernels.empty());
  CHECK(fakecupti_buffers_out() == 1);
  fakecupti_advance(10'000);
  recording.flush();
  CHECK(recording.kernels.size() == 1);
  CHECK(fakecupti_buffers_out() == 0);
  recording.stop();
}

TEST_CASE("the double notices what CUPTI would not forgive", "[source]") {
  fakecupti_reset();
  SECTION("a call from inside a callback") {
    CUpti_SubscriberHandle subscriber = nullptr;
    const auto calls_back =
        +[](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { cuptiActivityFlushAll(0); };
    REQUIRE(cuptiSubscribe(&subscriber, calls_back, nullptr) == CUPTI_SUCCESS);
    REQUIRE(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020) == CUPTI_SUCCESS);
    fakecupti_call("cudaMalloc_v3020", 0);
    REQUIRE(fakecupti_misuse() != nullptr);
    CHECK(std::string(fakecupti_misuse()) == "cuptiActivityFlushAll called from inside a callback");
  }
  SECTION("activity without a subscription") {
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    CHECK(fakecupti_misuse() != nullptr);
  }
  SECTION("a call after the end") {
    fakecupti_fatal_error(CUPTI_ERROR_HARDWARE);
    CHECK(cuptiActivityFlushAll(0) != CUPTI_SUCCESS);
    CHECK(fakecupti_misuse() != nullptr);
  }
  SECTION("a function that CUDA does not have") {
    fakecupti_call("cudaDoesNotExist", 0);
    CHECK(fakecupti_misuse() != nullptr);
  }
  SECTION("and is content otherwise") { CHECK(fakecupti_misuse() == nullptr); }
}

}  // namespace rangefinder::source::testing
