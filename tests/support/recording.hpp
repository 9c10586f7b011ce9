// SPDX-License-Identifier: MIT
#pragma once

#include "session/session_core.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::testing {

inline constexpr std::uint64_t kLeastMemory = std::uint64_t{8} << 20;

/// Options of a recording of ranges alone. Without an output, Recording chooses one.
inline SessionOptions host_only(std::string output = {}) {
  SessionOptions options;
  options.output = std::move(output);
  options.cuda = false;
  options.nvtx = false;
  options.memory_bytes = kLeastMemory;
  options.stop_timeout = std::chrono::seconds(60);
  return options;
}

inline Timeline load(const std::string& path) {
  Result<Timeline> timeline = load_timeline(path);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  return std::move(*timeline);
}

/// How many ranges of a timeline have that name.
inline std::uint64_t count_of(const Timeline& timeline, std::string_view name) {
  return static_cast<std::uint64_t>(std::count_if(timeline.ranges.name.begin(), timeline.ranges.name.end(),
                                                  [&](StringId id) { return timeline.text(id) == name; }));
}

/// A started recording; stopped at the end of the test case, whatever happened in it. Where the options name no output,
/// its file lies in a folder of its own.
class Recording {
 public:
  explicit Recording(SessionOptions options, session::Dependencies parts = {}) : path_(options.output) {
    if (path_.empty()) options.output = path_ = folder_.emplace().file("a.rfcap");
    auto started = session::SessionCore::start(std::move(options), std::move(parts));
    if (!started) throw std::runtime_error(started.error().message());
    session_ = std::move(*started);
  }
  ~Recording() { (void)session_->stop(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  session::SessionCore* operator->() { return session_.get(); }
  session::SessionCore& operator*() { return *session_; }
  const std::string& path() const noexcept { return path_; }
  std::string file(const std::string& name) const { return folder_.value().file(name); }
  /// Stops it, and reads what it left.
  Timeline stop() {
    if (const Status stopped = session_->stop(); !stopped.ok()) throw std::runtime_error(stopped.error().message());
    return load(path_);
  }

 private:
  std::optional<ScratchFolder> folder_;  // gone after the session
  std::string path_;
  std::shared_ptr<session::SessionCore> session_;
};

}  // namespace rangefinder::testing
