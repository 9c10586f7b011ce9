// SPDX-License-Identifier: MIT
#pragma once

#include "session/capture_series.hpp"
#include "session/session_core.hpp"

#include <rangefinder/session.hpp>

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace rangefinder {

namespace summary {
class LiveSummary;
}

struct Session::Impl {
  // One of the two; neither when the session could not start. Under `rangefinder record` they may be another session's,
  // which ends with the process: this one then only leaves.
  std::shared_ptr<session::SessionCore> core;
  std::shared_ptr<session::CaptureSeries> series;
  Status status;
  std::string output;
  bool joined = false;
  bool steps = true;  // its steps are the recording's
  std::atomic<bool> left{false};
  const int pid = ::getpid();
  std::mutex summary_mutex;
  std::shared_ptr<summary::LiveSummary> summary;  // made by the first call of Session::summary
  std::shared_ptr<session::SessionCore> summary_of;

  bool started() const noexcept { return core != nullptr || series != nullptr; }
  bool in_child() const noexcept { return ::getpid() != pid; }
  /// The recording of now; null between two of a series.
  std::shared_ptr<session::SessionCore> recording() const noexcept { return series != nullptr ? series->core() : core; }
};

}  // namespace rangefinder
