// SPDX-License-Identifier: MIT
#include "advice/small_copies.hpp"

#include "advice/context.hpp"
#include "advice/copies.hpp"
#include "advice/launches.hpp"
#include "analysis/calls.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace rangefinder::advice {
namespace {

// 64 KiB take 3 us over PCIe 4.0 x16 (about 25 GB/s), less than the call that copies them.
constexpr std::uint64_t kSmallCopyBytes = std::uint64_t{64} << 10;
// Fewer copies a step are those of a batch's parts and of figures to log.
constexpr std::uint64_t kFewest = 8;

/// Copies to the host that are waited for one by one are waits, and counted there.
bool is_read_at_once(const Timeline& timeline, ActivityIndex copy, const std::vector<bool>& waits_next) {
  const CallIndex call = call_of(timeline, copy);
  return direction_of(timeline, copy) == CopyDirection::kToHost && call < waits_next.size() && waits_next[call];
}

/// By call: whether it waits, or the next one of its thread does.
std::vector<bool> waiting_calls(Context& context) {
  const Timeline& timeline = context.timeline();
  std::vector<bool> waits(timeline.calls.size()), out(timeline.calls.size());
  for (const analysis::Wait& wait : context.waits())
    if (wait.call != kNone && wait.blocks_host()) waits[wait.call] = true;
  const std::vector<CallIndex> calls = analysis::outermost_calls(timeline);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool next = i + 1 < calls.size() && timeline.calls.thread[calls[i + 1]] == timeline.calls.thread[calls[i]] &&
                      waits[calls[i + 1]];
    out[calls[i]] = waits[calls[i]] || next;
  }
  return out;
}

}  // namespace

std::vector<SmallCopies> small_copies_of(Context& context) {
  const Timeline& timeline = context.timeline();
  const std::vector<bool> waits_next = waiting_calls(context);
  std::map<std::tuple<ProcessIndex, std::size_t, CopyDirection>, SmallCopies> groups;
  for (const ActivityIndex copy : context.work()) {
    if (timeline.activities.bytes[copy] > kSmallCopyBytes) continue;
    const CopyDirection direction = direction_of(timeline, copy);
    if (direction == CopyDirection::kOther || is_read_at_once(timeline, copy, waits_next)) continue;
    const LaunchIndex launch = timeline.activities.launch[copy];
    if (launch >= timeline.launches.size()) continue;
    const ThreadIndex thread = timeline.launches.thread[launch];
    if (thread >= timeline.threads.size()) continue;
    const ProcessIndex process = timeline.threads[thread].process;
    groups[{process, context.frames().at(process, timeline.launches.time_ns[launch]), direction}].push_back(copy);
  }
  std::vector<SmallCopies> out;
  for (auto& [key, copies] : groups)
    if (copies.size() >= kFewest) out.push_back(std::move(copies));
  return out;
}

void merge_copies(const Timeline& timeline, const SmallCopies& copies, Change& change) {
  for (std::size_t i = 1; i < copies.size(); ++i) {
    change.scale_activity(timeline, copies[i], 0);
    change.skip_call_after(timeline, call_of(timeline, copies[i - 1]), call_of(timeline, copies[i]));
  }
}

}  // namespace rangefinder::advice
