// SPDX-License-Identifier: MIT
#include "source/cupti/subscription.hpp"

#include "cupti_fixture.hpp"
#include "support/environment.hpp"

#include <algorithm>

namespace rangefinder::source::testing {

using rangefinder::testing::Environment;
namespace {

const std::vector<std::uint32_t> kWork = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                          CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
const std::vector<std::uint32_t> kApi = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
                                         CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API};

bool all_enabled(const std::vector<std::uint32_t>& kinds) {
  return std::all_of(kinds.begin(), kinds.end(), [](std::uint32_t kind) { return fakecupti_kind_enabled(kind); });
}
bool none_enabled(const std::vector<std::uint32_t>& kinds) {
  return std::none_of(kinds.begin(), kinds.end(), [](std::uint32_t kind) { return fakecupti_kind_enabled(kind); });
}

}  // namespace

TEST_CASE("a recording asks CUPTI for what the options name", "[source]") {
  CuptiProcess process;
  KeepingSink sink;
  SECTION("everything") {
    CuptiSource source = process.source();
    REQUIRE(source.start(sink).working);
    CHECK(all_enabled(kWork));
    CHECK(all_enabled(kApi));
    CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
    CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD));
    CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_DEVICE));
    CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_KERNEL));       // would serialise
    CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));  // would replace kernels of graphs
    CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
    CHECK(fakecupti_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) == 1);
    CHECK(fakecupti_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) == 1);
    CHECK(fakecupti_calls("cuptiActivityEnableAllSyncRecords") == 1);
    CHECK(fakecupti_calls("cuptiActivityEnableLatencyTimestamps") == 0);
    CHECK(fakecupti_calls("cuptiActivityRegisterTimestampCallback") == 0);
    CHECK(sink.fact("cupti_kinds") ==
          "CONCURRENT_KERNEL MEMCPY MEMCPY2 MEMSET RUNTIME DRIVER INTERNAL_LAUNCH_API SYNCHRONIZATION CUDA_EVENT "
          "OVERHEAD JIT "
          "MEMORY2");
    CHECK(sink.fact("cupti_version") == "13.0.1");
    CHECK(sink.fact("cupti_library") == FAKE_CUPTI_PATH);
    CHECK(sink.fact("cupti_clock") == "realtime");
    CHECK(sink.fact("simulated") == "yes");
    CHECK(sink.counts().empty());
  }
  SECTION("as little as possible") {
    process.options.api_records = process.options.sync_records = process.options.overhead_records = false;
    process.options.memory_records = false;
    process.options.latency_timestamps = true;
    CuptiSource source = process.source();
    REQUIRE(source.start(sink).working);
    CHECK(all_enabled(kWork));
    CHECK(none_enabled(kApi));
    CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
    CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD));
    CHECK(fakecupti_calls("cuptiActivityEnableLatencyTimestamps") == 1);
    CHECK(sink.fact("cupti_kinds") == "CONCURRENT_KERNEL MEMCPY MEMCPY2 MEMSET");
  }
}

TEST_CASE("callbacks are enabled for launching functions alone", "[source]") {
  CuptiProcess process;
  CuptiRecording recording(process, false);
  CHECK(fakecupti_callback_enabled("cudaLaunchKernel_v7000"));
  CHECK(fakecupti_callback_enabled("cudaGraphLaunch_v10000"));
  CHECK(fakecupti_callback_enabled("cuMemcpyHtoDAsync_v2"));
  CHECK_FALSE(fakecupti_callback_enabled("cudaMalloc_v3020"));
  CHECK_FALSE(fakecupti_callback_enabled("cudaDeviceSynchronize_v3020"));
  recording.stop();
  CHECK_FALSE(fakecupti_callback_enabled("cudaLaunchKernel_v7000"));
}

TEST_CASE("noisy calls leave no record, by CUPTI's filter or by ours", "[source]") {
  CuptiProcess process;
  KeepingSink sink;
  const auto call_both = [&] {
    CuptiSource source = process.source();
    REQUIRE(source.start(sink).working);
    source.set_active(true);
    fakecupti_call("cudaGetLastError_v3020", 0);
    fakecupti_call("cuCtxGetCurrent", 0);
    fakecupti_call("cudaMalloc_v3020", 0);
    const bool left_out = !fakecupti_api_enabled("cudaGetLastError_v3020");
    source.stop(soon());
    return left_out;
  };
  SECTION("CUPTI 12.5 and newer leaves them out") {
    CHECK(call_both());
    CHECK(sink.apis.size() == 1);
  }
  SECTION("an older one cannot") {
    process.change = [](CuptiApi& api) {
      api.cuptiActivityEnableRuntimeApi = nullptr, api.cuptiActivityEnableDriverApi = nullptr;
    };
    CHECK_FALSE(call_both());
    CHECK(sink.apis.size() == 1);
  }
  SECTION("it fails") {
    fakecupti_fail("cuptiActivityEnableRuntimeApi", CUPTI_ERROR_NOT_SUPPORTED);
    CHECK_FALSE(call_both());
    CHECK(sink.apis.size() == 1);
    CHECK(sink.counted(health::cupti_errors) == 1);  // not once for each function
  }
  SECTION("they are wanted") {
    process.options.noisy_api_filter = false;
    CHECK_FALSE(call_both());
    CHECK(sink.apis.size() == 3);
  }
}

TEST_CASE("without an optional function a feature is off and the rest works", "[source][fault]") {
  CuptiProcess process;
  process.change = [](CuptiApi& api) {
    api.cuptiSubscribe_v2 = nullptr;
    api.cuptiGetGraphNodeId = nullptr;
    api.cuptiSetThreadIdType = nullptr;
    api.cuptiActivitySetAttribute = nullptr;
    api.cuptiActivityEnableAndDump = nullptr;
    api.cuptiActivityEnableRuntimeApi = nullptr;
    api.cuptiActivityEnableDriverApi = nullptr;
    api.cuptiActivityEnableAllSyncRecords = nullptr;
    api.cuptiActivityEnableLatencyTimestamps = nullptr;
  };
  process.options.latency_timestamps = true;
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.stop();
  CHECK(recording.kernels.size() == 1);
  REQUIRE(recording.apis.size() == 1);
  CHECK(recording.apis[0].tid == 0);  // CUPTI's own ids name no thread of the system
  CHECK(recording.devices.empty());
  CHECK(NotedLaunches::take().size() == 1);
  CHECK(recording.counts().empty());
}

TEST_CASE("a required call that fails leaves host only, with the reason, and the place free for others",
          "[source][fault]") {
  struct Failing {
    const char* function;
    CUptiResult result;
    const char* says;
  };
  const auto failing = GENERATE(
      Failing{"cuptiSubscribe_v2", CUPTI_ERROR_UNKNOWN, "cuptiSubscribe: unknown reason; please report this"},
      Failing{"cuptiSubscribe_v2", CUPTI_ERROR_NOT_INITIALIZED, "the driver is too old for this CUPTI"},
      Failing{"cuptiSubscribe_v2", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another profiler holds CUPTI"},
      Failing{"cuptiActivityRegisterCallbacks", CUPTI_ERROR_INVALID_PARAMETER, "cuptiActivityRegisterCallbacks: "},
      Failing{"cuptiActivityEnable", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "NVreg_RestrictProfilingToAdminUsers=0"},
      Failing{"cuptiActivityEnable", CUPTI_ERROR_HARDWARE_BUSY, "dcgmi profile --pause"},
      Failing{"cuptiActivityEnable", CUPTI_ERROR_NOT_COMPATIBLE,
              "cuptiActivityEnable(CONCURRENT_KERNEL): another CUPTI feature"},
      Failing{"cuptiActivityEnable", CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "virtual GPU"},
      Failing{"cuptiActivityEnable", CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "confidential computing"},
      Failing{"cuptiActivityEnable", CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "MIG"},
      Failing{"cuptiActivityEnable", CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "WSL"},
      Failing{"cuptiActivityEnable", CUPTI_ERROR_OUT_OF_MEMORY, "out of host or device memory"});
  CAPTURE(failing.function, failing.result);
  CuptiProcess process;
  fakecupti_fail(failing.function, failing.result);
  KeepingSink sink;
  CuptiSource source = process.source();
  const SourceState state = source.start(sink);
  CHECK_FALSE(state.working);
  CHECK(state.reason.find(failing.says) != std::string::npos);
  CHECK(source.state().reason == state.reason);
  CHECK_FALSE(fakecupti_subscribed());
  CHECK(none_enabled(kWork));
  source.set_active(true);  // all of these do nothing now
  source.flush(soon());
  source.stop(soon());
  const FakeKernel k = kernel("k");
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  CHECK(NotedLaunches::take().empty());
  SECTION("and a later start works once it does") {
    fakecupti_fail(failing.function, 0);
    CHECK(source.start(sink).working);
    CHECK(source.state().working);
    CHECK(source.state().reason.empty());
  }
}

TEST_CASE("any other call may fail: it is counted, told, and the recording goes on", "[source][fault]") {
  struct Failing {
    const char* function;
    std::uint64_t errors;
  };
  const auto failing = GENERATE(
      Failing{"cuptiSetThreadIdType", 1}, Failing{"cuptiActivitySetAttribute", 2}, Failing{"cuptiEnableCallback", 3},
      Failing{"cuptiActivityEnableAndDump", 3}, Failing{"cuptiActivityEnableAllSyncRecords", 1},
      Failing{"cuptiActivityEnableLatencyTimestamps", 1}, Failing{"cuptiActivityEnableDriverApi", 1},
      Failing{"cuptiGetTimestamp", 3}, Failing{"cuptiActivityFlushAll", 2},
      Failing{"cuptiActivityGetNumDroppedRecords", 0}, Failing{"cuptiActivityDisable", 12});
  CAPTURE(failing.function);
  CuptiProcess process;
  process.options.latency_timestamps = true;
  fakecupti_fail(failing.function, CUPTI_ERROR_NOT_SUPPORTED);
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.flush();
  recording.stop();
  const bool no_flush = std::string(failing.function) == "cuptiActivityFlushAll";
  CHECK(recording.kernels.size() == (no_flush ? 0u : 1u));
  if (std::string(failing.function) == "cuptiEnableCallback") {
    // Two domains on, the state callback, the graphs', and two domains off again.
    CHECK(recording.counted(health::cupti_errors) == 6);
  } else if (no_flush) {
    // One asked for, and at the end one, and one by force because buffers are still out: two, which stay out.
    CHECK(recording.counted(health::cupti_errors) == 3);
    CHECK(recording.counted(health::kept_buffers) == 2);
  } else {
    CHECK(recording.counted(health::cupti_errors) == failing.errors);
  }
  const bool silent = std::string(failing.function) == "cuptiActivityGetNumDroppedRecords";
  CHECK((recording.fact("cupti_notes").find("CUPTI_ERROR_NOT_SUPPORTED, 27") != std::string::npos) == !silent);
}

TEST_CASE("queries that find work unfinished are not asked for", "[source]") {
  static int all_records;
  all_records = -1;
  CuptiProcess process;
  process.change = [](CuptiApi& api) {
    api.cuptiActivityEnableAllSyncRecords = +[](std::uint8_t on) {
      all_records = on;
      return CUPTI_SUCCESS;
    };
  };
  KeepingSink sink;
  CuptiSource source = process.source();
  REQUIRE(source.start(sink).working);
  source.stop(soon());
  CHECK(all_records == 0);
}

TEST_CASE("times of queueing are asked for whenever they are wanted, and it is said where none come", "[source]") {
  CuptiProcess process;
  KeepingSink sink;
  const std::uint64_t queued = GENERATE(0, 1'000);
  REQUIRE(cupti_prepare(process.seams()).working);
  CHECK(fakecupti_calls("cuptiActivityEnableLatencyTimestamps") == 0);
  for (const std::uint64_t wanted : {1, 0}) {
    process.options.latency_timestamps = wanted != 0;
    CuptiSource source = process.source();
    REQUIRE(source.start(sink).working);
    source.set_active(true);
    FakeKernel k = kernel("k");
    k.queued_ns = queued;
    fakecupti_launch("cudaLaunchKernel_v7000", &k);
    source.stop(soon());
    CHECK(fakecupti_calls("cuptiActivityEnableLatencyTimestamps") == 2 - wanted);  // on, and off again
  }
  CHECK((sink.fact("cupti_notes").find("no kernel has a queue time") == 0) == (queued == 0));
}

TEST_CASE("a CUPTI of a newer major version is used, and it is said", "[source]") {
  CuptiProcess process;
  fakecupti_set_version(140000);
  CuptiRecording recording(process, false);
  recording.stop();
  CHECK(recording.fact("cupti_notes").find("CUPTI 14.0.0 is of a newer major version than was tried") == 0);
}

TEST_CASE("one kind that fails does not keep the others from being recorded", "[source][fault]") {
  CuptiProcess process;
  const std::uint32_t kind = GENERATE(from_range(std::vector<std::uint32_t>{
      CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME,
      CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
      CUPTI_ACTIVITY_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_DEVICE,
      CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM}));
  CAPTURE(kind);
  fakecupti_fail_kind(kind, CUPTI_ERROR_NOT_COMPATIBLE);
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.stop();
  CHECK(recording.kernels.size() == 1);
  CHECK(NotedLaunches::take().size() == 1);
  CHECK(recording.counted(health::cupti_errors) == 1);
  CHECK(recording.fact("cupti_notes").find("CUPTI_ERROR_NOT_COMPATIBLE, 14") != std::string::npos);
}

TEST_CASE("a holder that has no name is looked for in the environment, and is not ourselves", "[source][fault]") {
  CuptiProcess process;
  KeepingSink sink;
  fakecupti_fail("cuptiSubscribe_v2", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  const Environment cuda("CUDA_INJECTION64_PATH", "/usr/lib/librangefinder_injection.so");
  SECTION("no tool") {
    const Environment nvtx("NVTX_INJECTION64_PATH", "/usr/lib/librangefinder_injection.so");
    CuptiSource source = process.source();
    CHECK(source.start(sink).reason ==
          "another profiler holds CUPTI in this process: stop it first, or look at its report");
  }
  SECTION("a tool that hears NVTX") {
    const Environment nvtx("NVTX_INJECTION64_PATH", "/opt/tool.so");
    CuptiSource source = process.source();
    CHECK(source.start(sink).reason ==
          "another profiler holds CUPTI in this process (/opt/tool.so (NVTX_INJECTION64_PATH)): stop it first, or look "
          "at its report");
  }
}

TEST_CASE("CUPTI is left to a tool that has started the program", "[source][fault]") {
  CuptiProcess process;
  KeepingSink sink;
  const Environment tool("NSYS_PROFILING_SESSION_ID", "4711");
  CuptiSource source = process.source();
  const SourceState state = source.start(sink);
  CHECK_FALSE(state.working);
  CHECK(state.reason ==
        "CUPTI is left to Nsight Systems (NSYS_PROFILING_SESSION_ID): look at its report, or run without it");
  CHECK(fakecupti_calls("cuptiSubscribe_v2") == 0);
}

TEST_CASE("a holder of CUPTI is named, and no activity call touches what is his", "[source][fault]") {
  CuptiProcess process;
  KeepingSink sink;
  fakecupti_set_holder("CUPTI for Kineto\x1b[31m");
  CuptiSource source = process.source();
  const SourceState state = source.start(sink);
  CHECK_FALSE(state.working);
  CHECK(state.reason ==
        "another profiler holds CUPTI in this process (CUPTI for Kineto\\x1b[31m): stop it first, or look at its "
        "report");
  for (const char* function : {"cuptiActivityRegisterCallbacks", "cuptiActivityEnable", "cuptiActivityEnableAndDump",
                               "cuptiActivitySetAttribute", "cuptiSetThreadIdType", "cuptiActivityFlushAll",
                               "cuptiEnableCallback", "cuptiActivityGetNumDroppedRecords", "cuptiUnsubscribe"}) {
    CAPTURE(function);
    CHECK(fakecupti_calls(function) == 0);
  }
  SECTION("and when he has gone the next start works") {
    fakecupti_set_holder(nullptr);
    CHECK(source.start(sink).working);
  }
}

}  // namespace rangefinder::source::testing
