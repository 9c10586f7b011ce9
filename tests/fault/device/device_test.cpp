// SPDX-License-Identifier: MIT
//
// What CUPTI and devices do wrong, up to the file that a session leaves: docs/reference/faults.md lists it.
#include "fault/device/device_recording.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

namespace rangefinder::source::testing {
namespace {

std::vector<std::string> kernel_names(const Timeline& timeline) {
  std::vector<std::string> names;
  for (const StringId name : timeline.activities.name) names.emplace_back(timeline.text(name));
  return names;
}

}  // namespace

// ---- finding and opening CUPTI -----------------------------------------------------------------------------------

TEST_CASE("without a CUPTI that can be used, ranges are recorded and the file says why", "[fault]") {
  DeviceProcess process;
  std::string library = FAKE_CUPTI_PATH;
  std::string says;
  SECTION("it is not there") {
    library = "/nowhere/libcupti.so.13";
    says = "RANGEFINDER_CUPTI_LIBRARY: ";
  }
  SECTION("a function is missing") {
    library = "libm.so.6";
    says = "has no cupti";
  }
  SECTION("it is of another major version") {
    fakecupti_set_version(17);
    says = "is too old; CUDA 12.0 or newer is needed";
  }
  SECTION("there is no driver behind it") {
    fakecupti_set_driver(false);
    says = "(CUPTI_ERROR_UNKNOWN, 999)";
  }
  const Environment chosen("RANGEFINDER_CUPTI_LIBRARY", library.c_str());
  DeviceRecording recording(process);
  recording.work(3);
  CHECK(recording.stop().activities.size() == 0);
  INFO(recording.info.device_state);
  CHECK(begins_with(recording.info.device_state, "host_only: "));
  CHECK(contains(recording.info.device_state, says));
}

TEST_CASE("whatever CUPTI refuses a recording with, ranges are recorded, the file says why, and CUPTI is released",
          "[fault]") {
  struct Refusal {
    CUptiResult result;
    const char* says;
  };
  const auto refusal = GENERATE(
      Refusal{CUPTI_ERROR_NOT_INITIALIZED, "the driver is too old"},
      Refusal{CUPTI_ERROR_OUT_OF_MEMORY, "out of host or device memory"},
      Refusal{CUPTI_ERROR_NOT_COMPATIBLE, "excludes this one"},
      Refusal{CUPTI_ERROR_HARDWARE_BUSY, "dcgmi profile --pause"},
      Refusal{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "NVreg_RestrictProfilingToAdminUsers=0"},
      Refusal{CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "virtual GPU"},
      Refusal{CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "virtual GPU"},
      Refusal{CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "confidential computing"},
      Refusal{CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "mining cards"},
      Refusal{CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "MIG"}, Refusal{CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "WSL"},
      Refusal{CUPTI_ERROR_UNKNOWN, "unknown reason; please report this"},
      Refusal{static_cast<CUptiResult>(777), "this version of rangefinder does not know (777)"});
  const std::string function = GENERATE(as<std::string>{}, "cuptiSubscribe_v2", "cuptiActivityEnable");
  CAPTURE(function, refusal.result);
  DeviceProcess process;
  fakecupti_fail(function.c_str(), refusal.result);
  DeviceRecording recording(process);
  recording.work(3);
  CHECK(recording.stop().activities.size() == 0);
  INFO(recording.info.device_state);
  CHECK(begins_with(recording.info.device_state, function == "cuptiSubscribe_v2"
                                                     ? "host_only: cuptiSubscribe: "
                                                     : "host_only: cuptiActivityEnable(CONCURRENT_KERNEL): "));
  CHECK(contains(recording.info.device_state, refusal.says));
  CHECK(recording.info.health.cupti_errors >= 1);
  CHECK_FALSE(fakecupti_subscribed());
}

TEST_CASE("a kind of record that cannot be had is counted and told, and the others are in the file", "[fault]") {
  DeviceProcess process;
  fakecupti_fail_kind(CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ERROR_NOT_COMPATIBLE);
  DeviceRecording recording(process);
  recording.work(3);
  CHECK(recording.stop().activities.size() == 3);
  CHECK(recording.info.device_state == "full");
  CHECK(recording.counted() == "cupti_errors 1");
  CHECK(begins_with(recording.fact("cupti_notes"), "cuptiActivityEnable(MEMSET): "));
}

// ---- buffers -------------------------------------------------------------------------------------------------------

TEST_CASE("a buffer that CUPTI keeps is counted, and discarded when it comes back after all", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  recording.work(2);
  REQUIRE(recording->flush().ok());
  fakecupti_set_delivery(kFakeHeld);
  recording.work(3, kernel("kept"));
  CHECK(recording.stop().activities.size() == 2);
  CHECK(recording.counted() == "kept_buffers 1");
  CHECK_FALSE(recording.info.health.complete());
  CHECK(recording.fact("cupti_notes") == "CUPTI kept 1 activity buffer: its records are missing");
  const bool released = GENERATE(false, true);
  if (released) REQUIRE(cupti_release(soon()).ok());
  fakecupti_set_delivery(kFakeInOrder);
  SECTION("before the next recording") { fakecupti_deliver(); }
  SECTION("in the next recording") {}
  DeviceRecording next(process);
  fakecupti_deliver();
  next.work(1, kernel("next"));
  CHECK(kernel_names(next.stop()) == std::vector<std::string>{"next"});
  CHECK(next.counted().empty());
}

TEST_CASE("buffers that are empty, come twice or were never ours do no harm", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  fakecupti_return_empty();
  recording.work(1);
  REQUIRE(recording->flush().ok());
  fakecupti_return_again();
  fakecupti_return_foreign();
  recording.work(1);
  fakecupti_return_empty();
  CHECK(recording.stop().activities.size() == 2);
  CHECK(recording.counted() == "cupti_errors 2");
  CHECK(recording.info.device_state == "full");
}

TEST_CASE("what cannot be read of a buffer is counted, and what can is in the file", "[fault]") {
  DeviceProcess process;
  const auto append = [](std::uint32_t kind) {
    std::array<std::uint32_t, 12> record{};
    record[0] = kind;
    fakecupti_append(record.data(), sizeof record);
  };
  constexpr std::uint32_t kNewer = 60, kNone = 90;
  constexpr std::size_t kKernelBytes = sizeof(CUpti_ActivityKernel10);
  std::function<void()> damage = [] {};
  std::size_t kernels = 3;
  std::string counted;
  SECTION("half a record") {
    damage = [] { fakecupti_cut_next_buffer(8); };
    kernels = 2;
    counted = "cupti_truncated 1";
  }
  SECTION("a kind that this version does not know") {
    fakecupti_set_record_bytes(kNewer, 48);
    damage = [&] { append(kNewer); };
    counted = "cupti_unknown_kinds 1";
  }
  SECTION("a kind that the parser does not know: what lies behind it is lost with it") {
    damage = [&] { append(kNone); };
    kernels = 2;
    counted = "cupti_truncated 1";
  }
  SECTION("records that do not begin at multiples of 8") {
    fakecupti_set_record_bytes(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kKernelBytes + 1);
    kernels = 0;
    counted = "cupti_truncated 2";
  }
  SECTION("longer records of a newer CUPTI") {
    fakecupti_set_record_bytes(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kKernelBytes + 64);
  }
  process.options.api_records = false;
  DeviceRecording recording(process);
  recording.work(1);
  REQUIRE(recording->flush().ok());
  recording.work(1);
  damage();
  recording.work(1);
  CHECK(recording.stop().activities.size() == kernels);
  CHECK(recording.counted() == counted);
}

TEST_CASE("records that CUPTI dropped, and buffers that it was refused, are in the file's health", "[fault]") {
  DeviceProcess process;
  process.options.buffer_bytes = 4096;
  process.options.memory_bytes = 8192;
  DeviceRecording recording(process);
  fakecupti_add_dropped(7);
  SECTION("by itself") {
    recording.work(1);
    CHECK(recording.stop().activities.size() == 1);
    CHECK(recording.counted() == "cupti_dropped 7");
  }
  SECTION("for want of a buffer") {
    FakeKernel open = kernel("k");
    open.open = true;              // no buffer comes back
    recording.work(10'000, open);  // of which the pool holds less than half
    CHECK(recording.stop().activities.size() == 0);
    CHECK(recording.info.health.cupti_refused_buffers > 0);
    CHECK(recording.info.health.cupti_dropped > 7);
    CHECK(recording.info.health.untimed_activities > 0);
  }
  CHECK_FALSE(recording.info.health.complete());
}

// ---- records -------------------------------------------------------------------------------------------------------

TEST_CASE("impossible times are counted and stay out, odd ones are in the file", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  FakeKernel k = kernel("k");
  std::size_t kept = 0;
  std::string counted;
  const std::uint64_t now = fakecupti_now();
  SECTION("none") {
    k.untimed = true;
    counted = "untimed_activities 1";
  }
  SECTION("end before begin") {
    k.begin_ns = now + 2000, k.end_ns = now + 1000;
    counted = "invalid_activities 1";
  }
  SECTION("timestamp out of range") {
    k.begin_ns = 1000, k.end_ns = 2000;
    counted = "invalid_activities 1";
  }
  SECTION("begin and end are one") {
    k.begin_ns = k.end_ns = now + 1000;
    kept = 1;
  }
  SECTION("before the one that was launched before it") {
    FakeKernel later = kernel("later");
    later.begin_ns = now + 9000, later.end_ns = now + 9500;
    recording.work(1, later);
    k.begin_ns = now + 1000, k.end_ns = now + 2000;
    kept = 2;
  }
  recording.work(1, k);
  CHECK(recording.stop().activities.size() == kept);
  CHECK(recording.counted() == counted);
}

TEST_CASE("an activity whose launch cannot be told is in the account, whatever its correlation id says", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  const std::uint32_t first = recording.work(1);
  Account wanted;
  SECTION("it has none") {
    CUpti_ActivityKernel10 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.start = fakecupti_now();
    record.end = record.start + 1000;
    record.contextId = 1;
    record.name = "k";
    fakecupti_append(&record, sizeof record);
    wanted.owned.gpu_ops = 1, wanted.unknown.gpu_ops = 1;
  }
  SECTION("another launch has the same") {
    fakecupti_set_next_correlation(first);
    recording.work(1);
    wanted.owned.gpu_ops = 2;
  }
  SECTION("all work of a graph has one") {
    const FakeKernel k = kernel("k");
    FakeGraph* graph = fakecupti_graph_create();
    for (int i = 0; i < 3; ++i) fakecupti_graph_add(graph, &k);
    FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
    {
      const ProfileRange range{"replay"};
      fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    }
    fakecupti_graph_destroy(graph, exec);
    wanted.owned.gpu_ops = 4;
  }
  const Account account = project(recording.stop(), {}).account;
  CHECK(account.owned.gpu_ops == wanted.owned.gpu_ops);
  CHECK(account.unknown.gpu_ops == wanted.unknown.gpu_ops);
  CHECK(account.outside.gpu_ops + account.before.gpu_ops == 0);
}

TEST_CASE("a kernel without a name is a kernel", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  recording.work(1, kernel(nullptr));
  CHECK(recording.stop().activities.size() == 1);
  CHECK(recording.counted().empty());
}

// ---- contexts and devices ------------------------------------------------------------------------------------------

TEST_CASE("work of a context that is destroyed while it runs is counted", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  FakeKernel open = kernel("open");
  open.open = true;
  recording.work(2, open);
  fakecupti_destroy_context();
  recording.work(1);
  CHECK(recording.stop().activities.size() == 1);
  CHECK(recording.counted() == "untimed_activities 2");
}

TEST_CASE("a device that is lost takes its records with it, and nothing else", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  recording.work(2);
  REQUIRE(recording->flush().ok());
  // From now on CUDA answers with an error, and CUPTI cannot fetch anything.
  constexpr std::uint32_t kLaunchFailure = 719;
  fakecupti_call("cudaDeviceSynchronize_v3020", kLaunchFailure);
  fakecupti_fail("cuptiActivityFlushAll", CUPTI_ERROR_HARDWARE);
  recording.work(2);
  CHECK(recording.stop().activities.size() == 2);
  CHECK(recording.info.health.cupti_errors >= 1);
  CHECK(recording.info.health.kept_buffers == 1);
  CHECK_FALSE(recording.info.health.complete());
  CHECK(contains(recording.fact("cupti_notes"), "cuptiActivityFlushAll: the device reported an error"));
  CHECK(contains(recording.fact("cupti_notes"), "CUPTI kept 1 activity buffer: its records are missing"));
}

TEST_CASE("after a fatal error of CUPTI the recording ends with what it had, and the file says so", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  recording.work(2);
  fakecupti_fatal_error(CUPTI_ERROR_HARDWARE);
  recording.work(2);
  CHECK(recording.stop().activities.size() == 2);
  CHECK(recording.info.device_state ==
        "host_only: CUPTI has shut itself down: the device reported an error (CUPTI_ERROR_HARDWARE, 9); ranges go on "
        "without device activity");
  CHECK(recording.counted() == "device_outages 1");
  CHECK_FALSE(recording.info.health.complete());
}

// ---- calls ---------------------------------------------------------------------------------------------------------

TEST_CASE("a flush that does not come back holds up the end no longer than asked for, and the file is whole",
          "[fault]") {
  DeviceProcess process;
  process.options.flush_patience = 0ms;
  process.session.stop_timeout = 200ms;
  DeviceRecording recording(process);
  recording.work(2);
  REQUIRE(recording->flush().ok());
  fakecupti_hang("cuptiActivityFlushAll");
  recording.work(2);
  CHECK(recording.stop().activities.size() == 2);
  CHECK(recording.counted() == "flush_timeouts 1");
  CHECK(begins_with(recording.info.device_state, "host_only: CUPTI does not answer: a call has not returned for 0 s"));
}

/// CUPTI's function, from inside of which CUPTI calls us back once more.
namespace reentered {
decltype(CuptiApi::cuptiGetGraphNodeId) original = nullptr;
bool armed = false;
int depth = 0;
int deepest = 0;

CUptiResult CUPTIAPI node_id(CUgraphNode node, std::uint64_t* id) {
  if (++depth == 1 && armed) {
    CUpti_GraphData graph{};
    graph.node = node;
    CUpti_ResourceData data{};
    data.resourceDescriptor = &graph;
    cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &data);
    CUpti_CallbackData call{};
    call.correlationId = 999;
    for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
      call.callbackSite = site;
      cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &call);
    }
  }
  deepest = std::max(deepest, depth);
  --depth;
  return original(node, id);
}
}  // namespace reentered

TEST_CASE("a callback that our own call brings about is answered, and takes nothing away", "[fault]") {
  DeviceProcess process;
  process.change = [](CuptiApi& api) {
    reentered::original = api.cuptiGetGraphNodeId;
    api.cuptiGetGraphNodeId = &reentered::node_id;
  };
  reentered::deepest = 0;
  DeviceRecording recording(process);
  const FakeKernel k = kernel("node");
  FakeGraph* graph = fakecupti_graph_create();
  {
    const ProfileRange range{"captured"};
    reentered::armed = true;
    fakecupti_graph_capture("cudaLaunchKernel_v7000", graph, &k);
    reentered::armed = false;
  }
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
  fakecupti_graph_destroy(graph, exec);
  const Timeline timeline = recording.stop();
  CHECK(reentered::deepest == 2);
  REQUIRE(timeline.activities.size() == 1);
  ProjectionOptions options;
  options.attribution = Attribution::kCapture;
  const Projection projection = project(timeline, options);
  REQUIRE(projection.owner[0] < timeline.ranges.size());
  CHECK(timeline.text(timeline.ranges.name[projection.owner[0]]) == "captured");
}

TEST_CASE("a disk that does not answer holds up the end of a recording of a device no longer than asked for",
          "[fault]") {
  DeviceProcess process;
  process.session.stop_timeout = 200ms;
  auto recording = std::make_unique<DeviceRecording>(process);
  recording->work(20);
  (*recording)->writer().with_output([&](session::ChunkOutput&) {
    Status status;
    std::thread([&] {
      const bool in_time = (*recording)->release(std::chrono::steady_clock::now() + 100ms);
      CHECK_FALSE(in_time);
      status = (*recording)->stop();
    }).join();
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code() == ErrorCode::kTimeout);
    CHECK_FALSE((*recording)->running());
    CHECK(count_of(load(recording->path()), "work") == 20);
  });
  // It answers again: who was left behind is done with the session before that is gone.
  recording.reset();
  CHECK(eventually([&] { return cupti_release(soon()).ok(); }));
  CHECK(eventually([] { return buffer::Recorder::instance().generation() == 0; }));
}

}  // namespace rangefinder::source::testing
