// SPDX-License-Identifier: MIT
#pragma once

#include "base/library.hpp"
#include "buffer/held_records.hpp"
#include "source/cupti/callbacks.hpp"
#include "source/cupti/cupti_api.hpp"
#include "source/cupti/cupti_source.hpp"
#include "source/cupti/graph_nodes.hpp"
#include "support/catch.hpp"
#include "support/deadlines.hpp"
#include "support/environment.hpp"
#include "support/manual_clock.hpp"
#include "support/recording.hpp"

#include <fake_cupti.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rangefinder::testing {

/// The double without the functions that its version lacks.
inline Result<source::cupti::CuptiApi> as_played(Result<source::cupti::CuptiApi> api) {
  if (!api || !api->simulated) return api;
#define FAKE_CUPTI_LACKS(function) \
  if (!fakecupti_has(#function)) api->function = nullptr;
  RANGEFINDER_CUPTI_OPTIONAL(FAKE_CUPTI_LACKS)
#undef FAKE_CUPTI_LACKS
  return api;
}

inline source::cupti::CuptiApi fake_api() {
  return as_played(source::cupti::bind_cupti(base::Library::open(FAKE_CUPTI_PATH).value())).value();
}

inline std::int64_t fake_realtime() noexcept { return static_cast<std::int64_t>(fakecupti_now()); }

inline FakeKernel kernel(const char* name, std::uint64_t duration_ns = 0) {
  FakeKernel made;
  made.name = name;
  made.duration_ns = duration_ns;
  return made;
}

/// A fresh process with a simulated device, whose CUPTI is the fake of support/fake_cupti. At the end of the test
/// case the double's rules must have been kept.
///
///   DeviceProcess process;
///   process.options.buffer_bytes = 4096;      // whatever a test varies, before the recording
///   Recording recording = process.record();
///   fakecupti_launch(...);
///   const Timeline timeline = recording.stop();
class DeviceProcess {
 public:
  DeviceProcess() {
    fakecupti_reset();
    fakecupti_set_launch_latency(0);  // what lasts no time is complete at the next flush
    forget();
  }
  ~DeviceProcess() {
    fakecupti_release_hangs();
    (void)source::cupti_release(soon());
    forget();
    const char* misuse = fakecupti_misuse();
    if (misuse != nullptr) FAIL_CHECK("CUPTI's rules were broken: " << misuse);
    // The buffers that a test left out belong to the pool that the next one finds.
    fakecupti_fail("cuptiActivityFlushAll", CUPTI_SUCCESS);
    ::cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }
  DeviceProcess(const DeviceProcess&) = delete;
  DeviceProcess& operator=(const DeviceProcess&) = delete;

  source::CuptiOptions options = [] {
    source::CuptiOptions made;
    made.flush_period = std::chrono::milliseconds(0);  // only when the test says so
    made.stop_patience = std::chrono::milliseconds(0);
    made.memory_bytes = 1 << 20;
    made.buffer_bytes = 16 << 10;
    return made;
  }();
  SessionOptions session = [] {
    SessionOptions made = host_only();
    made.cuda = true;
    made.memory_bytes = 2 * kLeastMemory;
    made.flush_period = std::chrono::hours(1);  // only when the test says so
    return made;
  }();
  std::function<void(source::cupti::CuptiApi&)> change;  ///< to the table of functions

  source::CuptiSeams seams() const {
    source::CuptiSeams made;
    made.load = [change = change] {
      Result<source::cupti::CuptiApi> api = as_played(source::cupti::load_cupti());
      if (api && change) change(*api);
      return api;
    };
    made.realtime_ns = &fake_realtime;
    return made;
  }
  session::Dependencies parts() {
    session::Dependencies made;
    if (clock_) made.clock = &*clock_;
    made.sources.push_back(std::make_shared<source::CuptiSource>(options, seams()));
    return made;
  }
  /// A session that records host and device from now on.
  Recording record() { return Recording(session, parts()); }

  /// From now on time passes by `advance` alone, on the host and on the device.
  void stop_clock() {
    clock_.emplace();
    fakecupti_set_manual_clock(ManualClock::kStart + static_cast<std::uint64_t>(ManualClock::kRealtimeOffset));
    buffer::HeldRecords::instance().forget(&*clock_);
  }
  void advance(std::uint64_t ns) {
    clock_.value().advance(ns);
    fakecupti_advance(ns);
  }

 private:
  /// What the library keeps for the life of a process.
  static void forget() {
    source::cupti::callback_state().fatal = false;
    source::cupti::callback_state().newest_correlation = 0;
    buffer::HeldRecords::instance().forget();
    source::cupti::graph_nodes().forget();
  }
  Environment library_{"RANGEFINDER_CUPTI_LIBRARY", FAKE_CUPTI_PATH};
  std::optional<ManualClock> clock_;
};

}  // namespace rangefinder::testing
