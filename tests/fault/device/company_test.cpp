// SPDX-License-Identifier: MIT
//
// Other profilers in the process: first, second, in the middle, and after us.
#include "fault/device/device_recording.hpp"
#include "support/environment.hpp"

#include <dlfcn.h>

#include <optional>
#include <string>

namespace rangefinder::source::testing {
namespace {

/// Another profiler that uses CUPTI as it is meant to be used.
class OtherProfiler {
 public:
  ~OtherProfiler() {
    if (subscribed()) (void)api_.cuptiUnsubscribe(subscriber_);
  }
  CUptiResult subscribe() {
    char before[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = {};
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "other";
    params.oldSubscriberName = before;
    params.oldSubscriberSize = sizeof before;
    return api_.cuptiSubscribe_v2(&subscriber_, &on_callback, nullptr, &params);
  }
  bool subscribed() const { return subscriber_ != nullptr; }

 private:
  static void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
  CuptiApi api_ = fake_api();
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace

TEST_CASE("a profiler that was first is named in the file, and nothing of its is touched", "[fault]") {
  DeviceProcess process;
  const std::string holder = GENERATE(as<std::string>{}, "CUPTI for Kineto", "Nsight Systems", "compute-sanitizer");
  fakecupti_set_holder(holder.c_str());
  {
    DeviceRecording recording(process);
    recording.work(3);
    CHECK(recording->device().reason ==
          "another profiler holds CUPTI in this process (" + holder + "): stop it first, or look at its report");
    CHECK(recording.stop().activities.size() == 0);
    CHECK(
        begins_with(recording.info.device_state, "host_only: another profiler holds CUPTI in this process (" + holder));
  }
  for (const char* function : {"cuptiActivityRegisterCallbacks", "cuptiActivityEnable", "cuptiActivityFlushAll"})
    CHECK(fakecupti_calls(function) == 0);
  fakecupti_set_holder(nullptr);  // it ends: the next session records the device
  DeviceRecording next(process);
  next.work(2);
  CHECK(next.stop().activities.size() == 2);
  CHECK(next.info.device_state == "full");
}

TEST_CASE("a tool that started the program is named by what it left in the environment, and CUPTI is left to it",
          "[fault]") {
  DeviceProcess process;
  std::string variable, says;
  SECTION("one that uses CUPTI") {
    variable = "CUDA_INJECTION64_PATH";
    says = "host_only: CUPTI is left to /opt/tool.so (CUDA_INJECTION64_PATH)";
  }
  SECTION("one that may, where CUPTI knows no name") {
    process.change = [](CuptiApi& api) { api.cuptiSubscribe_v2 = nullptr; };
    fakecupti_set_holder("unnamed");
    variable = "NVTX_INJECTION64_PATH";
    says = "host_only: another profiler holds CUPTI in this process (/opt/tool.so (NVTX_INJECTION64_PATH))";
  }
  const Environment injected(variable.c_str(), "/opt/tool.so");
  DeviceRecording recording(process);
  recording.work(1);
  CHECK(recording.stop().activities.size() == 0);
  CHECK(begins_with(recording.info.device_state, says));
}

TEST_CASE("a profiler that comes second is refused by CUPTI, and the recording loses nothing", "[fault]") {
  DeviceProcess process;
  DeviceRecording recording(process);
  recording.work(2);
  OtherProfiler other;
  CHECK(other.subscribe() == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  recording.work(2);
  CHECK(recording.stop().activities.size() == 4);
  CHECK(recording.counted().empty());
  CHECK(recording.info.device_state == "full");
}

TEST_CASE("a profiler that takes over the buffers in the middle is told of in the file", "[fault]") {
  DeviceProcess process;
  process.options.watchdog_launches = 50;
  DeviceRecording recording(process);
  recording.work(10);
  REQUIRE(recording->flush().ok());
  fakecupti_steal_buffers(true);
  recording.work(60);
  for (int i = 0; i < 2; ++i) REQUIRE(recording->flush().ok());
  const auto of = [](int launches) {
    return "host_only: another profiler in this process took over CUPTI's buffers: " + std::to_string(launches) +
           " launches without a record; ";
  };
  CHECK(begins_with("host_only: " + recording->device().reason, of(60)));
  SECTION("as it is") {
    recording.work(5);  // after it was noticed
    CHECK(recording.stop().activities.size() == 10);
    CHECK(recording.counted() == "launches_without_records 65, device_outages 1");
    CHECK_FALSE(recording.info.health.complete());
    CHECK(recording.info.device_state == of(65) + "device activity is missing since then");
  }
  SECTION("until it goes") {
    fakecupti_steal_buffers(false);
    REQUIRE(fake_api().cuptiActivityRegisterCallbacks(&cupti::on_buffer_requested, &cupti::on_buffer_completed) ==
            CUPTI_SUCCESS);
    recording.work(5);
    for (int i = 0; i < 2; ++i) REQUIRE(recording->flush().ok());
    CHECK(recording.stop().activities.size() == 15);
    CHECK(recording.counted() == "launches_without_records 60, device_outages 1");
    CHECK(recording.info.device_state == "full");
  }
  fakecupti_steal_buffers(false);
}

TEST_CASE("a profiler that takes over may be torch's, where LibTorch is loaded", "[fault]") {
  void* const torch = ::dlopen(TORCH_STAND_IN, RTLD_NOW);
  REQUIRE(torch != nullptr);
  DeviceProcess process;
  process.options.watchdog_launches = 50;
  DeviceRecording recording(process);
  fakecupti_steal_buffers(true);
  recording.work(60);
  for (int i = 0; i < 2; ++i) REQUIRE(recording->flush().ok());
  (void)recording.stop();
  CHECK(contains(recording.info.device_state,
                 "60 launches without a record; it may be torch.profiler, because LibTorch is"));
  fakecupti_steal_buffers(false);
  ::dlclose(torch);
}

TEST_CASE("a holder that CUPTI of CUDA 12 does not name may be torch's, where LibTorch is loaded", "[fault]") {
  void* const torch = ::dlopen(TORCH_STAND_IN, RTLD_NOW);
  REQUIRE(torch != nullptr);
  DeviceProcess process;
  process.change = [](CuptiApi& api) { api.cuptiSubscribe_v2 = nullptr; };
  fakecupti_set_holder("unnamed");
  DeviceRecording recording(process);
  (void)recording.stop();
  CHECK(
      recording.info.device_state ==
      "host_only: another profiler holds CUPTI in this process (it may be torch.profiler, because LibTorch is loaded): "
      "stop it first, or look at its report");
  ::dlclose(torch);
}

// ---- release -------------------------------------------------------------------------------------------------------

TEST_CASE("a release gives CUPTI to another profiler, in the middle and after the end", "[fault]") {
  DeviceProcess process;
  OtherProfiler other;
  SECTION("in the middle: ranges go on, and the file says since when the device is missing") {
    DeviceRecording recording(process);
    recording.work(3);
    CHECK(recording->device().full);
    REQUIRE(recording->release(soon()));
    REQUIRE(cupti_release(soon()).ok());
    CHECK(recording->device().reason == "released to another profiler; device activity is missing since then");
    CHECK(other.subscribe() == CUPTI_SUCCESS);
    recording.work(3);
    REQUIRE(recording->flush().ok());
    recording->step();
    CHECK(recording.stop().activities.size() == 3);
    CHECK(recording.info.device_state ==
          "host_only: released to another profiler; device activity is missing since then");
    CHECK(recording.counted().empty());
  }
  SECTION("after the end") {
    {
      DeviceRecording recording(process);
      recording.work(3);
      CHECK(recording.stop().activities.size() == 3);
      CHECK(recording.info.device_state == "full");
      CHECK(other.subscribe() == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
      REQUIRE(recording->release(soon()));
    }
    REQUIRE(cupti_release(soon()).ok());
    CHECK(other.subscribe() == CUPTI_SUCCESS);
  }
  // Nothing of the other's was touched, and as long as it is there it is named.
  DeviceRecording meanwhile(process);
  meanwhile.work(1);
  (void)meanwhile.stop();
  CHECK(begins_with(meanwhile.info.device_state, "host_only: another profiler holds CUPTI"));
}

TEST_CASE("sessions release and take CUPTI again", "[fault]") {
  DeviceProcess process;
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.cuda = true;
  for (int round = 0; round < 2; ++round) {
    Session session(options);
    REQUIRE(session.status().ok());
    REQUIRE(session.device().full);
    if (round == 0) {
      CHECK(session.release_cupti().ok());
      CHECK_FALSE(session.device().full);
      CHECK(session.running());
      CHECK(session.stop().ok());
    } else {
      CHECK(session.stop().ok());
      CHECK(fakecupti_subscribed());
      CHECK(session.release_cupti().ok());
    }
    CHECK_FALSE(fakecupti_subscribed());
    CHECK(session.release_cupti().ok());  // nothing is held
  }
  SECTION("one that does not record cannot take another's") {
    Session first(options);
    REQUIRE(first.stop().ok());
    options.output = folder.file("b.rfcap");
    Session second(options);
    const Status refused = first.release_cupti();
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code() == ErrorCode::kBusy);
    CHECK(second.device().full);
  }
  SECTION("one that could not start, too") {
    (void)prepare();
    CHECK(fakecupti_subscribed());
    options.output = "/nowhere/a.rfcap";
    Session broken(options);
    CHECK_FALSE(broken.status().ok());
    CHECK(broken.release_cupti().ok());
    CHECK_FALSE(fakecupti_subscribed());
  }
  SECTION("CUPTI does not answer") {
    options.stop_timeout = 200ms;
    Session session(options);
    REQUIRE(session.device().full);
    fakecupti_hang("cuptiActivityFlushAll");
    const Status late = session.release_cupti();
    REQUIRE_FALSE(late.ok());
    CHECK(late.error().code() == ErrorCode::kTimeout);
    fakecupti_release_hangs();
    (void)session.stop();
  }
}

}  // namespace rangefinder::source::testing
