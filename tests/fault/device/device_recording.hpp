// SPDX-License-Identifier: MIT
#pragma once

#include "session/session_fixture.hpp"
#include "source/cupti/cupti_fixture.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/timeline.hpp>

#include <memory>
#include <string>

namespace rangefinder::source::testing {

/// A session with the double of CUPTI under it, recorded to a file. The program is the calling thread: each launch in a
/// range "work" of its own.
class DeviceRecording {
 public:
  explicit DeviceRecording(const CuptiProcess& process, std::chrono::milliseconds stop_timeout = 60s)
      : DeviceRecording(process, process.seams(), stop_timeout) {}
  DeviceRecording(const CuptiProcess& process, CuptiSeams seams, std::chrono::milliseconds stop_timeout = 60s) {
    seams.note_launch = nullptr;  // the recorder's own
    session::Parts parts;
    parts.sources.push_back(std::make_shared<CuptiSource>(process.options, std::move(seams)));
    SessionOptions options = session::testing::host_only(path());
    options.cuda = true;
    options.memory_bytes = 2 * session::testing::kLeastMemory;
    options.flush_period = 1h;  // only when the test says so
    options.stop_timeout = stop_timeout;
    recording_ = std::make_unique<session::testing::Recording>(options, parts);
  }

  session::SessionCore& core() { return **recording_; }
  std::string path() const { return folder_.file("a.rfcap"); }

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
  /// it, and device time is divided without rest.
  Timeline stop() {
    CHECK(core().stop().ok());
    Result<CaptureInfo> inspected = inspect_capture(path(), true);
    REQUIRE(inspected.ok());
    info = std::move(*inspected);
    CHECK(info.ended_cleanly);
    CHECK(info.findings.empty());
    CHECK(info.health.damaged_chunks == 0);
    Timeline timeline = session::testing::load(path());
    CHECK(session::testing::count_of(timeline, "work") == works_);
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
  rangefinder::testing::ScratchFolder folder_;
  std::unique_ptr<session::testing::Recording> recording_;
  std::size_t works_ = 0;
};

inline bool begins_with(const std::string& text, std::string_view beginning) { return text.rfind(beginning, 0) == 0; }
inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace rangefinder::source::testing
