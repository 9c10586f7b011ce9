// SPDX-License-Identifier: MIT
#pragma once

#include "base/library.hpp"
#include "source/counters/profiler_api.hpp"
#include "support/catch.hpp"
#include "support/device_process.hpp"
#include "support/source_recording.hpp"

#include <fake_cupti.h>

#include <cstdint>
#include <functional>
#include <stdexcept>

namespace rangefinder::source::testing {

using namespace rangefinder::testing;
using counters::ProfilerApi;

inline ProfilerApi fake_profiler() {
  Result<base::Library> library = base::Library::open(FAKE_CUPTI_PATH);
  if (!library) throw std::runtime_error(library.error().message());
  return counters::bind_profiler(*library, &*library);
}

/// A fresh process with the double in it, on a clock that stands still. The test's thread has context 1.
class ProfiledProcess : public DeviceProcess {
 public:
  static constexpr std::uint64_t kNoon = 1'760'000'000'000'000'000;

  ProfiledProcess() {
    fakecupti_set_launch_latency(3'000);
    fakecupti_set_manual_clock(kNoon);
    fakecupti_set_current_context(1);
  }
  ~ProfiledProcess() {
    fakecupti_release_hangs();
    fakecupti_set_current_context(0);
    CHECK(fakecupti_profilers_open() == 0);
  }

  std::function<void(ProfilerApi&)> change;  ///< to the table of functions
  std::function<Result<ProfilerApi>()> load() const {
    return [change = change]() -> Result<ProfilerApi> {
      ProfilerApi api = fake_profiler();
      if (change) change(api);
      return api;
    };
  }
};

/// What CUPTI answers, and what a person is told.
struct DocumentedError {
  int code;
  const char* text;
};
inline constexpr DocumentedError kDocumentedErrors[] = {
    {26, "another tool uses the counters: `dcgmi profile --pause` makes DCGM release them"},
    {27, "this device, or this CUPTI, does not support it"},
    {35, "run with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"},
    {38, "removed from this CUPTI"},
    {41, "not possible in confidential computing mode"},
    {43, "not possible on a MIG instance"},
    {45, "not possible under WSL with this driver"},
    {46, "CUPTI does not know this chip"},
};

}  // namespace rangefinder::source::testing
