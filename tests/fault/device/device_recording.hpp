// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"
#include "support/device_process.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/timeline.hpp>

#include <string>

namespace rangefinder::source::testing {

using namespace std::chrono_literals;
using namespace rangefinder::testing;
using cupti::CuptiApi;

/// A recording of a simulated device. The program is the calling thread: each launch in a range "work" of its own.
class DeviceRecording : public Recording {
 public:
  explicit DeviceRecording(DeviceProcess& process) : Recording(process.session, process.parts()) {}

  /// Answers the correlation id of the last launch.
  std::uint32_t work(int launches = 1, const FakeKernel& what = kernel("k")) {
    std::uint32_t last = 0;
    for (int i = 0; i < launches; ++i, ++works_) {
      const ProfileRange range{"work"};
      last = fakecupti_launch("cudaLaunchKernel_v7000", &what);
    }
    return last;
  }

  /// Whatever went wrong, this holds: the recording ends, its file is whole and says what it lost, every range is in
  /// it, and the parts of the device time are exhaustive and disjoint.
  Timeline stop() {
    CHECK((*this)->stop().ok());
    Result<CaptureInfo> inspected = inspect_capture(path(), true);
    REQUIRE(inspected.ok());
    info = std::move(*inspected);
    CHECK(info.ended_cleanly);
    CHECK(info.findings.empty());
    CHECK(info.health.damaged_chunks == 0);
    Timeline timeline = load(path());
    CHECK(count_of(timeline, "work") == works_);
    const Account account = project(timeline, {}).account;
    CHECK(account.total.gpu_ops == timeline.activities.size());
    CHECK(account.total.gpu_ops ==
          account.owned.gpu_ops + account.outside.gpu_ops + account.before.gpu_ops + account.unknown.gpu_ops);
    return timeline;
  }

  // Of the file, once stopped.

  CaptureInfo info;
  /// "cupti_errors 1, untimed_activities 2": all that is not 0.
  std::string counted() const {
    std::string text;
    for (const CaptureHealth::Entry& entry : info.health.entries()) {
      if (entry.count == 0) continue;
      text += (text.empty() ? "" : ", ") + std::string(entry.name) + " " + std::to_string(entry.count);
    }
    return text;
  }
  std::string fact(std::string_view key) const {
    for (const auto& [name, value] : info.metadata)
      if (name == key) return value;
    return {};
  }

 private:
  std::size_t works_ = 0;
};

inline bool begins_with(const std::string& text, std::string_view beginning) { return text.rfind(beginning, 0) == 0; }
inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace rangefinder::source::testing
