// SPDX-License-Identifier: MIT
#pragma once

#include "source/source.hpp"
#include "support/catch.hpp"
#include "support/deadlines.hpp"
#include "support/manual_clock.hpp"
#include "support/recording.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::session::testing {

using namespace std::chrono_literals;
using namespace rangefinder::testing;

// AddressSanitizer's lock on memory may be held by another thread at the fork; ThreadSanitizer allows no thread there.
#if defined(RANGEFINDER_ADDRESS_SANITIZER) || defined(RANGEFINDER_THREAD_SANITIZER)
inline constexpr bool kThreadsInChild = false;
#else
inline constexpr bool kThreadsInChild = true;
#endif

/// Runs it in a child of fork, which exits with what it gives.
template <typename Function>
int in_child(Function function) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(function());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/// The value attached to a row, as text; empty when there is none.
inline std::string value_of(const Timeline& timeline, Attachment::Target target, std::uint32_t row) {
  for (const Attachment& attachment : timeline.attachments) {
    if (attachment.target != target || attachment.row != row) continue;
    switch (attachment.type) {
      case Attachment::Type::kUnsigned:
        return std::to_string(attachment.bits) + "u";
      case Attachment::Type::kSigned:
        return std::to_string(static_cast<std::int64_t>(attachment.bits));
      case Attachment::Type::kText:
        return "'" + std::string(timeline.text(static_cast<StringId>(attachment.bits))) + "'";
      case Attachment::Type::kDouble: {
        double number = 0;
        std::memcpy(&number, &attachment.bits, sizeof number);
        return std::to_string(number);
      }
    }
  }
  return {};
}

/// Ranges, marks, samples and steps of a timeline, a line each, as a person would write them down; times from `zero`.
inline std::vector<std::string> lines_of(const Timeline& timeline, std::int64_t zero) {
  std::vector<std::string> lines;
  const auto time = [&](std::int64_t ns) { return std::to_string(ns - zero); };
  const auto text = [&](StringId id) { return std::string(timeline.text(id)); };
  for (RangeIndex i{0}; i < timeline.ranges.size(); ++i) {
    const RangeTable& ranges = timeline.ranges;
    std::string line = text(ranges.name[i]) + " [" + time(ranges.begin_ns[i]) + ", " + time(ranges.end_ns[i]) + ")";
    if (!text(ranges.category[i]).empty()) line += " category " + text(ranges.category[i]);
    if (const std::string value = value_of(timeline, Attachment::Target::kRange, i); !value.empty())
      line += " = " + value;
    if (ranges.style[i] == RangeStyle::kStartEnd) line += " start/end";
    if ((ranges.flags[i] & kUnfinished) != 0) line += " unfinished";
    if ((ranges.flags[i] & kEndedElsewhere) != 0) line += " ended elsewhere";
    lines.push_back(std::move(line));
  }
  for (std::uint32_t i = 0; i < timeline.marks.size(); ++i) {
    const std::string value = value_of(timeline, Attachment::Target::kMark, i);
    lines.push_back("mark " + text(timeline.marks.name[i]) + " at " + time(timeline.marks.time_ns[i]) +
                    (value.empty() ? "" : " = " + value));
  }
  for (std::uint32_t i = 0; i < timeline.counters.size(); ++i) {
    const CounterTable& counters = timeline.counters;
    lines.push_back(
        "counter " + text(counters.name[i]) + " at " + time(counters.time_ns[i]) + " = " +
        (counters.is_integer[i] ? std::to_string(counters.integer[i]) : std::to_string(counters.number[i])));
  }
  for (std::uint32_t i = 0; i < timeline.steps.size(); ++i) {
    lines.push_back("step " + std::to_string(timeline.steps.number[i]) + " [" + time(timeline.steps.begin_ns[i]) +
                    ", " + time(timeline.steps.end_ns[i]) + ")" +
                    (timeline.steps.items[i] != 0 ? " items " + std::to_string(timeline.steps.items[i]) : ""));
  }
  return lines;
}

/// A source that a test drives: keeps the sink, and stays inside a call for as long as the test wants.
class ScriptedSource final : public source::Source {
 public:
  enum Call : std::uint8_t { kNone, kFlush, kStop, kSetActive };

  std::function<void(source::RowSink&)> on_flush;
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  source::RowSink* sink() const noexcept { return sink_; }

  /// The next such call does not return until `release`.
  void hang_in(Call call) {
    const std::lock_guard lock(mutex_);
    hang_in_ = call;
  }
  void wait_hanging() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return hanging_; });
  }
  void release() {
    {
      const std::lock_guard lock(mutex_);
      hang_in_ = kNone;
    }
    changed_.notify_all();
  }

  std::string_view name() const noexcept override { return "scripted"; }
  source::SourceState start(source::RowSink& sink) noexcept override {
    sink_ = &sink;
    note("start", kNone);
    return {true, {}};
  }
  void set_active(bool active) noexcept override { note(active ? "on" : "off", kSetActive); }
  void flush(std::chrono::steady_clock::time_point) noexcept override {
    if (on_flush) on_flush(*sink_);
    note("", kFlush);
  }
  void stop(std::chrono::steady_clock::time_point) noexcept override { note("stop", kStop); }
  source::SourceState state() const noexcept override { return {true, {}}; }

 private:
  void note(const char* what, Call call) noexcept {
    std::unique_lock lock(mutex_);
    if (*what != '\0') calls_.emplace_back(what);
    if (call == kNone || hang_in_ != call) return;
    hanging_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return hang_in_ != call; });
    hanging_ = false;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> calls_;
  source::RowSink* sink_ = nullptr;
  Call hang_in_ = kNone;
  bool hanging_ = false;
};

}  // namespace rangefinder::session::testing
