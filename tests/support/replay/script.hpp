// SPDX-License-Identifier: MIT
#pragma once

#include "support/replay/recorded_program.hpp"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace rangefinder::testing {

/// A moment of a thread.
struct ScriptEvent {
  enum Kind : std::uint8_t { kBeginRange, kEndRange, kMark, kBeginCall, kEndCall };
  /// At one moment what lasts ends before anything begins, inner before outer, and begins outer before inner; what
  /// takes no time ends after that.
  enum Phase : std::uint8_t { kEnds, kBegins, kEndsAtOnce };

  std::int64_t time_ns;
  Phase phase;
  std::int64_t order_ns;
  std::int64_t row;
  Kind kind;
  std::size_t index;

  bool operator<(const ScriptEvent& other) const {
    return std::tie(time_ns, phase, order_ns, row) < std::tie(other.time_ns, other.phase, other.order_ns, other.row);
  }
};

/// What each thread of a process does, in order.
class Script {
 public:
  explicit Script(const RecordedProcess& process);
  const std::vector<ScriptEvent>& of_thread(std::size_t thread) const { return threads_[thread]; }

 private:
  void begin(std::size_t thread, std::int64_t begin_ns, std::int64_t end_ns, ScriptEvent::Kind kind, std::size_t index);
  void end(std::size_t thread, std::int64_t begin_ns, std::int64_t end_ns, ScriptEvent::Kind kind, std::size_t index);

  std::vector<std::vector<ScriptEvent>> threads_;
  std::int64_t rows_ = 0;  // of one moment and length, the first is the outer
};

}  // namespace rangefinder::testing
