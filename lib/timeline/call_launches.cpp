// SPDX-License-Identifier: MIT
#include "timeline/call_launches.hpp"

#include "base/descending.hpp"
#include "base/id_hash.hpp"

#include <rangefinder/detail/cells.hpp>

#include <algorithm>
#include <bit>
#include <tuple>
#include <vector>

namespace rangefinder::timeline {
namespace {

class Join {
 public:
  Join(Timeline& timeline, CorrelationScope scope)
      : timeline_(timeline),
        by_process_(scope == CorrelationScope::kProcess),
        slots_(std::bit_ceil(2 * timeline.activities.size() + 2)) {}

  void run() {
    ActivityTable& activities = timeline_.activities;
    for (ActivityIndex i{0}; i < activities.size(); ++i) {
      if (activities.correlation[i] == 0) continue;
      Slot& slot = slot_of_activity(i);
      if (slot.first == kNone) slot.first = i;
    }
    find_calls();
    write_launches();
    for (ActivityIndex i{0}; i < activities.size(); ++i) {
      if (activities.correlation[i] != 0) activities.set_launch(i, LaunchIndex(slot_of_activity(i).found));
    }
  }

 private:
  /// Of a table with open addressing, since there is one look-up for each call and two for each activity. The first
  /// activity stands for the correlation id.
  struct Slot {
    ActivityIndex first = kNone;  ///< kNone: free
    std::uint32_t found = kNone;  ///< the outermost call, from write_launches() on the launch
  };

  ProcessIndex process_of_activity(ActivityIndex i) const {
    return by_process_ ? timeline_.devices[timeline_.streams[timeline_.activities.stream[i]].device].process
                       : ProcessIndex{0};
  }
  ProcessIndex process_of_call(CallIndex call) const {
    return by_process_ ? timeline_.threads[timeline_.calls.thread[call]].process : ProcessIndex{0};
  }
  /// The slot of that id, or the free one where it belongs.
  Slot& slot_of(ProcessIndex process, std::uint64_t correlation) noexcept {
    std::size_t at = base::IdHash::mix(correlation + (std::uint64_t{process} << 40)) & (slots_.size() - 1);
    const auto other = [&](ActivityIndex first) {
      return timeline_.activities.correlation[first] != correlation || process_of_activity(first) != process;
    };
    while (slots_[at].first != kNone && other(slots_[at].first)) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  Slot& slot_of_activity(ActivityIndex i) {
    return slot_of(process_of_activity(i), timeline_.activities.correlation[i]);
  }

  bool encloses(CallIndex outer, CallIndex inner) const {
    const CallTable& calls = timeline_.calls;
    const auto rank = [&](CallIndex call) {
      return std::tuple(calls.begin_ns[call], base::Descending{calls.end_ns[call]}, call);
    };
    return rank(outer) < rank(inner);
  }

  void find_calls() {
    const CallTable& calls = timeline_.calls;
    for (CallIndex call{0}; call < calls.size(); ++call) {
      if (calls.correlation[call] == 0) continue;
      Slot& slot = slot_of(process_of_call(call), calls.correlation[call]);
      if (slot.first == kNone) continue;  // launched nothing
      if (slot.found == kNone || encloses(call, CallIndex(slot.found))) slot.found = call;
    }
  }

  void write_launches() {
    detail::Cells<Slot*> found;
    for (Slot& slot : slots_) {
      if (slot.found != kNone) found.push_back(&slot);
    }
    const CallTable& calls = timeline_.calls;
    std::sort(found.begin(), found.end(), [&](const Slot* a, const Slot* b) {
      return std::tuple(calls.begin_ns[a->found], a->found) < std::tuple(calls.begin_ns[b->found], b->found);
    });
    LaunchTable& launches = timeline_.launches;
    for (Slot* slot : found) {
      const CallIndex call(slot->found);
      const ThreadIndex thread = calls.thread[call];
      slot->found = launches.append({.process = timeline_.threads[thread].process,
                                     .correlation = calls.correlation[call],
                                     .thread = thread,
                                     .time_ns = calls.begin_ns[call],
                                     .source = LaunchSource::kCall,
                                     .call = call});
    }
  }

  Timeline& timeline_;
  const bool by_process_;
  std::vector<Slot> slots_;
};

}  // namespace

void make_launches_of_calls(Timeline& timeline, CorrelationScope scope) { Join(timeline, scope).run(); }

}  // namespace rangefinder::timeline
