// SPDX-License-Identifier: MIT
#pragma once

#include "advice/host_spans.hpp"

#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::advice {

/// What a finding changes of the recorded schedule: what takes no time any more, or less. The critical path tells how
/// much shorter steps get by it.
///
///   Change change;
///   change.skip_wait(timeline, call);                  // the host goes on at once
///   change.scale_activity(timeline, kernel, 0.5);      // twice as fast
///   change.skip_host(thread, begin_ns, end_ns);        // this time is not spent
///   change.finish();
class Change {
 public:
  /// The call does not wait for the device.
  void skip_wait(const Timeline& timeline, CallIndex call);
  /// The host does not make the call, nor wait in it.
  void skip_call(const Timeline& timeline, CallIndex call);
  void skip_host(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns);
  void skip_host(const HostSpans& spans) { host_.add(spans); }
  /// Nor what lies between it and the call before, which is of the same kind and on the same thread: the operators
  /// around both. A longer pause than an operator takes is something else, and stays.
  void skip_call_after(const Timeline& timeline, CallIndex before, CallIndex call);
  /// The activity takes `share` of its time, 0 to 1. Of several shares of one the least counts.
  void scale_activity(const Timeline& timeline, ActivityIndex activity, double share);
  /// The activity begins as soon as it can: no delay of some microseconds in front of it.
  void skip_delay(ActivityIndex activity) { prompt_.push_back(activity); }
  /// The work of a collective on the host that was done then takes no time once all ranks have come.
  void skip_transfer(std::int64_t done_ns, std::int64_t length_ns);
  /// The kernel of a collective does not wait for its own rank's work, nor for the other ranks.
  void skip_meeting(ActivityIndex kernel) { meetings_.push_back(kernel); }
  void add(const Change& other);
  /// After the last of the above, and before any question.
  void finish();

  bool empty() const noexcept { return host_.empty() && waits_.empty() && activities_.empty() && transfers_.empty(); }
  const HostSpans& host() const noexcept { return host_; }
  /// The most that all steps together can get shorter.
  std::int64_t most_ns() const noexcept;
  /// How many times as long a segment of the schedule takes.
  double scale(const CriticalSegment& segment) const noexcept;

 private:
  struct Scaled {
    ActivityIndex activity;
    double share;
    std::int64_t length_ns;
  };
  struct Skipped {
    CallIndex call;
    std::int64_t length_ns;
  };
  struct Transfer {
    std::int64_t done_ns;
    std::int64_t length_ns;
  };
  bool waits_in(CallIndex call) const noexcept;
  bool is_prompt(const CriticalSegment& segment) const noexcept;
  double share_of(ActivityIndex activity) const noexcept;
  bool skips_transfer(std::int64_t done_ns) const noexcept;

  HostSpans host_;
  std::vector<Skipped> waits_;       // by call
  std::vector<Scaled> activities_;   // by activity
  std::vector<Transfer> transfers_;  // by time
  std::vector<ActivityIndex> prompt_, meetings_;
};

}  // namespace rangefinder::advice
