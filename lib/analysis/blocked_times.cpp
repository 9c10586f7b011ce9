// SPDX-License-Identifier: MIT
#include "analysis/blocked_times.hpp"

#include "analysis/waits.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace rangefinder::analysis {

void BlockedTimes::add(const Timeline& timeline, const base::Interval& bounds) {
  threads_.resize(timeline.threads.size());
  take(waits_without_work(timeline), bounds);
}

void BlockedTimes::add_window(Timeline& window, const base::Interval& bounds, std::int64_t time_ns) {
  threads_.resize(window.threads.size());
  const std::size_t own_calls = window.calls.size(), own_syncs = window.syncs.size();
  for (const CallRow& call : std::exchange(calls_, {})) window.calls.append(call);
  for (const SyncRow& sync : std::exchange(syncs_, {})) window.syncs.append(sync);
  std::vector<Wait> waits = waits_without_work(window);
  find_held(window, time_ns);
  hold(window, waits, time_ns);
  std::erase_if(waits, [&](const Wait& wait) { return is_held(window, wait, time_ns); });
  take(std::move(waits), bounds);
  for (Thread& thread : threads_) thread.busy.settle(std::min(thread.held_from_ns, time_ns));
  window.calls.cut_to(own_calls);
  window.syncs.cut_to(own_syncs);
}

void BlockedTimes::take(std::vector<Wait> waits, const base::Interval& bounds) {
  std::erase_if(waits, [this](const Wait& wait) { return wait.thread >= threads_.size() || !wait.blocks_host(); });
  std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.begin_ns < b.begin_ns; });
  for (const Wait& wait : waits) {
    Thread& thread = threads_[wait.thread];
    thread.blocked_ns += thread.busy.add(std::max(wait.begin_ns, bounds.begin), std::min(wait.end_ns, bounds.end));
  }
}

/// A call that is not over may have records, and calls inside it, that are still to come.
void BlockedTimes::find_held(const Timeline& window, std::int64_t time_ns) {
  for (Thread& thread : threads_) thread.held_from_ns = std::numeric_limits<std::int64_t>::max();
  const CallTable& calls = window.calls;
  for (CallIndex call{0}; call < calls.size(); ++call) {
    if (calls.thread[call] >= threads_.size() || calls.end_ns[call] < time_ns) continue;
    std::int64_t& from_ns = threads_[calls.thread[call]].held_from_ns;
    from_ns = std::min(from_ns, calls.begin_ns[call]);
  }
}

bool BlockedTimes::is_held(const Timeline& window, const Wait& wait, std::int64_t time_ns) const {
  if (wait.call != kNone) return window.calls.begin_ns[wait.call] >= threads_[wait.thread].held_from_ns;
  // Its call may come, where clocks differ a little.
  constexpr std::int64_t kSlackNs = 1'000'000;
  return wait.end_ns >= time_ns || wait.begin_ns >= time_ns - std::min(time_ns, kSlackNs);
}

void BlockedTimes::hold(const Timeline& window, const std::vector<Wait>& waits, std::int64_t time_ns) {
  for (const Wait& wait : waits)
    if (wait.sync != kNone && is_held(window, wait, time_ns)) syncs_.push_back(window.syncs.row(wait.sync));
  const CallTable& calls = window.calls;
  for (CallIndex call{0}; call < calls.size(); ++call)
    if (calls.thread[call] < threads_.size() && calls.begin_ns[call] >= threads_[calls.thread[call]].held_from_ns)
      calls_.push_back(calls.row(call));
}

}  // namespace rangefinder::analysis
