// SPDX-License-Identifier: MIT
#pragma once

#include "base/health_numbers.hpp"
#include "base/library.hpp"
#include "source/cupti/callbacks.hpp"
#include "source/cupti/cupti_api.hpp"
#include "source/cupti/cupti_source.hpp"
#include "support/catch.hpp"
#include "support/device_process.hpp"
#include "support/source_recording.hpp"

#include <fake_cupti.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rangefinder::source::testing {

using namespace std::chrono_literals;
using namespace rangefinder::testing;
using cupti::callback_state;
using cupti::CuptiApi;
namespace health = rangefinder::health;

/// Launches as buffer::note_launch would be told of them.
struct NotedLaunch {
  std::uint32_t correlation;
  std::uint32_t callback;
  std::uint32_t tid;
};

class NotedLaunches {
 public:
  static void note(std::uint32_t correlation, std::uint32_t callback) noexcept {
    const std::lock_guard lock(mutex());
    all().push_back({correlation, callback, tid_of_caller()});
  }
  static std::vector<NotedLaunch> take() {
    const std::lock_guard lock(mutex());
    return std::exchange(all(), {});
  }
  static std::uint32_t tid_of_caller() noexcept { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::vector<NotedLaunch>& all() {
    static std::vector<NotedLaunch> launches;
    return launches;
  }
};

/// NVIDIA's library, for its parser; none where it is not installed.
inline const CuptiApi* real_cupti() {
  static const auto* const found = []() -> const CuptiApi* {
    for (const char* folder : {"/lib64/", "/lib/"}) {
      auto library = base::Library::open(std::string(REAL_CUPTI_ROOT) + folder + "libcupti.so.13");
      if (!library) continue;
      auto api = cupti::bind_cupti(*library);
      if (api && !api->simulated) return new CuptiApi(*api);
    }
    return nullptr;
  }();
  return found;
}

/// The names of the parsers at hand.
inline std::vector<std::string> parsers() {
  std::vector<std::string> all{"double"};
  if (real_cupti() != nullptr) all.push_back("real");
  return all;
}

/// A fresh process with the double in it, whose launches are noted in NotedLaunches.
class CuptiProcess : public DeviceProcess {
 public:
  CuptiProcess() { NotedLaunches::take(); }

  std::string parser = "double";

  CuptiSeams seams() const {
    CuptiSeams made = DeviceProcess::seams();
    if (parser == "real") {
      made.load = [load = made.load] {
        Result<CuptiApi> api = load();
        if (api) api->cuptiActivityGetNextRecord = real_cupti()->cuptiActivityGetNextRecord;
        return api;
      };
    }
    made.note_launch = &NotedLaunches::note;
    return made;
  }
  CuptiSource source() const { return CuptiSource(options, seams()); }
};

/// A source of the process that records; `active` false: from `source.set_active(true)` on.
class CuptiRecording : public SourceRecording<CuptiSource> {
 public:
  explicit CuptiRecording(const CuptiProcess& process, bool active = true)
      : SourceRecording(process.options, process.seams()) {
    INFO(started.reason);
    REQUIRE(started.working);
    if (active) source.set_active(true);
  }
};

inline const format::ApiRow* find_api(const KeptRows& sink, std::uint32_t correlation) {
  for (const format::ApiRow& row : sink.apis) {
    if (row.correlation == correlation) return &row;
  }
  return nullptr;
}

/// CUPTI's callback at the begin of cudaLaunchKernel, whatever the double has switched on.
inline void enter_launch(std::uint32_t correlation) {
  CUpti_CallbackData data{};
  data.callbackSite = CUPTI_API_ENTER;
  data.correlationId = correlation;
  cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
}

inline constexpr std::uint64_t kNoon = 1'760'000'000'000'000'000;  // where a manual clock starts

}  // namespace rangefinder::source::testing
