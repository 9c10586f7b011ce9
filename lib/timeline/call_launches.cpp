// SPDX-License-Identifier: MIT
#include "timeline/call_launches.hpp"

#include "base/id_hash.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <vector>

namespace rangefinder::timeline {
namespace {

/// Correlation ids to calls: open addressing, since there is one look-up for each call and two for each activity.
class CallsOfCorrelation {
 public:
  struct Slot {
    std::uint64_t correlation = 0;  ///< 0: free; no activity has it
    ProcessIndex process{0};
    CallIndex call = kNone;
    LaunchIndex launch = kNone;
  };

  explicit CallsOfCorrelation(std::size_t count) : slots_(std::bit_ceil(2 * count + 2)) {}

  /// The slot of that id, or the free one where it belongs.
  Slot& at(ProcessIndex process, std::uint64_t correlation) noexcept {
    std::size_t at = base::IdHash::mix(correlation + (std::uint64_t{process} << 40)) & (slots_.size() - 1);
    const auto other = [&](const Slot& slot) { return slot.correlation != correlation || slot.process != process; };
    while (slots_[at].correlation != 0 && other(slots_[at])) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  std::vector<Slot>& slots() noexcept { return slots_; }

 private:
  std::vector<Slot> slots_;
};

class Join {
 public:
  Join(Timeline& timeline, CorrelationScope scope)
      : timeline_(timeline), by_process_(scope == CorrelationScope::kProcess), calls_(timeline.activities.size()) {}

  void run() {
    ActivityTable& activities = timeline_.activities;
    for (ActivityIndex i{0}; i < activities.size(); ++i) {
      if (activities.correlation[i] == 0) continue;
      CallsOfCorrelation::Slot& slot = slot_of_activity(i);
      slot.correlation = activities.correlation[i];
      slot.process = process_of_activity(i);
    }
    find_calls();
    write_launches();
    for (ActivityIndex i{0}; i < activities.size(); ++i) {
      if (activities.correlation[i] != 0) activities.set_launch(i, slot_of_activity(i).launch);
    }
  }

 private:
  ProcessIndex process_of_activity(ActivityIndex i) const {
    return by_process_ ? timeline_.devices[timeline_.streams[timeline_.activities.stream[i]].device].process
                       : ProcessIndex{0};
  }
  ProcessIndex process_of_call(CallIndex call) const {
    return by_process_ ? timeline_.threads[timeline_.calls.thread[call]].process : ProcessIndex{0};
  }
  CallsOfCorrelation::Slot& slot_of_activity(ActivityIndex i) {
    return calls_.at(process_of_activity(i), timeline_.activities.correlation[i]);
  }

  bool encloses(CallIndex outer, CallIndex inner) const {
    const CallTable& calls = timeline_.calls;
    const auto rank = [&](CallIndex call) { return std::tuple(calls.begin_ns[call], -calls.end_ns[call], call); };
    return rank(outer) < rank(inner);
  }

  void find_calls() {
    const CallTable& calls = timeline_.calls;
    for (CallIndex call{0}; call < calls.size(); ++call) {
      if (calls.correlation[call] == 0) continue;
      CallsOfCorrelation::Slot& slot = calls_.at(process_of_call(call), calls.correlation[call]);
      if (slot.correlation == 0) continue;  // launched nothing
      if (slot.call == kNone || encloses(call, slot.call)) slot.call = call;
    }
  }

  void write_launches() {
    std::vector<CallsOfCorrelation::Slot*> found;
    for (CallsOfCorrelation::Slot& slot : calls_.slots()) {
      if (slot.call != kNone) found.push_back(&slot);
    }
    const CallTable& calls = timeline_.calls;
    std::sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
      return std::tie(calls.begin_ns[a->call], a->call) < std::tie(calls.begin_ns[b->call], b->call);
    });
    LaunchTable& launches = timeline_.launches;
    for (CallsOfCorrelation::Slot* slot : found) {
      const ThreadIndex thread = calls.thread[slot->call];
      slot->launch = launches.append({.process = timeline_.threads[thread].process,
                                      .correlation = slot->correlation,
                                      .thread = thread,
                                      .time_ns = calls.begin_ns[slot->call],
                                      .source = LaunchSource::kCall,
                                      .call = slot->call});
    }
  }

  Timeline& timeline_;
  const bool by_process_;
  CallsOfCorrelation calls_;
};

}  // namespace

void make_launches_of_calls(Timeline& timeline, CorrelationScope scope) { Join(timeline, scope).run(); }

}  // namespace rangefinder::timeline
