// SPDX-License-Identifier: MIT
#include "support/replay/script.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::testing {

Script::Script(const RecordedProcess& process) : threads_(process.threads.size()) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < process.ranges.size(); ++i) {
    const RecordedRange& range = process.ranges[i];
    begin(range.thread, range.begin_ns, range.end_ns.value_or(kNever), ScriptEvent::kBeginRange, i);
    if (range.end_ns) end(range.end_thread, range.begin_ns, *range.end_ns, ScriptEvent::kEndRange, i);
  }
  for (std::size_t i = 0; i < process.marks.size(); ++i)
    begin(process.marks[i].thread, process.marks[i].time_ns, process.marks[i].time_ns, ScriptEvent::kMark, i);
  for (std::size_t i = 0; i < process.calls.size(); ++i) {
    const RecordedCall& call = process.calls[i];
    begin(call.thread, call.begin_ns, call.end_ns, ScriptEvent::kBeginCall, i);
    end(call.thread, call.begin_ns, call.end_ns, ScriptEvent::kEndCall, i);
  }
  for (std::vector<ScriptEvent>& events : threads_) std::sort(events.begin(), events.end());
}

void Script::begin(std::size_t thread, std::int64_t begin_ns, std::int64_t end_ns, ScriptEvent::Kind kind,
                   std::size_t index) {
  threads_[thread].push_back({begin_ns, ScriptEvent::kBegins, -end_ns, ++rows_, kind, index});
}

void Script::end(std::size_t thread, std::int64_t begin_ns, std::int64_t end_ns, ScriptEvent::Kind kind,
                 std::size_t index) {
  const auto phase = begin_ns == end_ns ? ScriptEvent::kEndsAtOnce : ScriptEvent::kEnds;
  threads_[thread].push_back({end_ns, phase, -begin_ns, -rows_, kind, index});
}

}  // namespace rangefinder::testing
