// SPDX-License-Identifier: MIT
// Ranges that need not nest: start/end ranges, and scoped ones that end on another thread or are suspended and resumed.
#include "importer/capture/host_assembler.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace rangefinder::importer {

using detail::Record;
using detail::word_category;
using detail::word_id;

// ---- scoped ranges that end elsewhere -------------------------------------------------------------------------------

void HostAssembler::on_foreign_end(std::uint32_t owner, const Record& record, std::uint32_t index) {
  only_nests_ = false;
  if (owner >= kMaxThreads) {
    ++health_.unmatched_ends;
    return;
  }
  const Label label = label_of(record.word);
  const End end{record.ticks, index};
  Thread* const thread = find_thread(owner);
  if (thread == nullptr || thread->last_ticks < end.ticks) {
    auto& ends = thread != nullptr ? thread->ends_to_come : early_foreign_ends_[owner];
    ends.insert({end.ticks, {false, label, index}});
    return;
  }
  if (deferred_ends_.size() < kNearby) end_deferred();  // else this end could take the range of an earlier one
  if (!end_elsewhere(owner, label, end)) deferred_ends_.push_back({owner, label, end});
}

/// The thread has come as far as ends on other threads that were read before.
void HostAssembler::end_until(std::uint32_t index, Thread& thread, std::uint64_t ticks) {
  while (!thread.ends_to_come.empty() && thread.ends_to_come.begin()->first <= ticks) {
    const auto [end_ticks, coming] = *thread.ends_to_come.begin();
    thread.ends_to_come.erase(thread.ends_to_come.begin());
    const End end{end_ticks, coming.thread};
    if (coming.is_start_end)
      end_start_end(coming.what, end);
    else if (!end_elsewhere(index, coming.what, end))
      deferred_ends_.push_back({index, coming.what, end});
  }
}

/// Ends the range of that thread and label that began last before `end`, and none inside it.
bool HostAssembler::end_elsewhere(std::uint32_t owner, Label label, End end) {
  Thread* const thread = find_thread(owner);
  if (thread == nullptr) return false;
  auto& open = thread->open;
  std::size_t at = open.size();
  const std::size_t lowest = at > kNearby ? at - kNearby : 0;
  while (at > lowest && (label_of(open[at - 1]) != label || open[at - 1].begin_ticks > end.ticks)) --at;
  const bool found = at > lowest;
  if (end_elsewhere_of_missing(owner, label, end, found ? open[at - 1].begin_ticks : 0)) return true;
  if (!found) return false;
  AssembledRange range = take_open(*thread, at - 1);
  range.end_ticks = end.ticks;
  range.end_thread = end.thread;
  range.ended_elsewhere = end.thread != range.thread;
  report(range);
  return true;
}

bool HostAssembler::end_elsewhere_of_missing(std::uint32_t owner, Label label, End end, std::uint64_t began_after) {
  const auto after = missing_ends_.upper_bound({owner, label, end.ticks, ~std::uint64_t{0}});
  if (after == missing_ends_.begin()) return false;
  const auto last = std::prev(after);
  if (last->first < MissingPlace{owner, label, began_after, 0}) return false;
  AssembledRange range = last->second;
  missing_ends_.erase(last);
  range.end_ticks = end.ticks;
  range.end_thread = end.thread;
  range.ended_elsewhere = end.thread != range.thread;
  report(range);
  return true;
}

// ---- start/end ranges -------------------------------------------------------------------------------------------

void HostAssembler::begin_start_end(std::uint32_t index, Thread& thread, const Record& record, std::uint64_t handle) {
  only_nests_ = false;
  AssembledRange range;
  range.key = ++last_key_;
  range.under = innermost(thread);
  range.begin_ticks = record.ticks;
  range.name = word_id(record.word);
  range.category = word_category(record.word);
  range.thread = range.end_thread = index;
  range.start_end = true;
  // A handle is given out once; where a file says otherwise, the earlier range never ends.
  if (const auto [earlier, added] = start_end_.try_emplace(handle, range); !added) {
    if (Thread* owner = find_thread(earlier->second.thread)) owner->open_start_end.erase(earlier->second.key);
    report_unfinished(earlier->second, record.ticks);
    earlier->second = range;
  }
  thread.open_start_end.insert(range.key);
  thread.started = range.key;
  thread.started_handle = handle;
  sink_->on_begin(range);
}

/// All is known of the range. Its end may have been read before: another thread's records stand elsewhere in the file.
void HostAssembler::settle_started(Thread& thread) {
  if (std::exchange(thread.started, 0) == 0) return;
  const auto early = early_ends_.find(thread.started_handle);
  if (early == early_ends_.end()) return;
  const End end = early->second;
  early_ends_.erase(early);
  if (thread.last_ticks < end.ticks)
    thread.ends_to_come.insert({end.ticks, {true, thread.started_handle, end.thread}});
  else
    end_start_end(thread.started_handle, end);
}

void HostAssembler::end_start_end(std::uint64_t handle, End end) {
  const auto found = start_end_.find(handle);
  if (found == start_end_.end()) {
    if (!early_ends_.try_emplace(handle, end).second) ++health_.unmatched_ends;
    return;
  }
  AssembledRange range = found->second;
  start_end_.erase(found);
  if (Thread* owner = find_thread(range.thread)) owner->open_start_end.erase(range.key);
  range.end_ticks = std::max(end.ticks, range.begin_ticks);
  range.end_thread = end.thread;
  range.ended_elsewhere = end.thread != range.thread;
  report(range);
}

// ---- ranges that are suspended and resumed ------------------------------------------------------------------------

/// The record of a resumption says since when the range was suspended. That end may be still to be read, or lost.
void HostAssembler::resume(AssembledRange& range, std::uint64_t since_ticks) {
  only_nests_ = false;
  const SuspendedPlace place{since_ticks, label_of(range)};
  if (const auto found = suspended_.find(place); found != suspended_.end()) {
    range.instance_begin_ticks = std::min(found->second.back().instance_begin_ticks, range.begin_ticks);
    found->second.pop_back();
    if (found->second.empty()) suspended_.erase(found);
    return;
  }
  if (since_ticks == 0 || since_ticks > range.begin_ticks) return;
  range.instance_begin_ticks = since_ticks;
  if (!early_resumed_.try_emplace(range.key, EarlyResumed{place, range, false, {}}).second) return;  // said twice
  awaited_suspensions_[place].insert(range.key);
  if (early_resumed_.size() > kMaxEarlyResumed) give_up_suspension();
}

/// What was resumed from it may have been read before, and may have been suspended again since.
void HostAssembler::suspend(AssembledRange range) {
  for (std::optional<AssembledRange> next{range}; next.has_value();) {
    const SuspendedPlace place{next->end_ticks, label_of(*next)};
    const auto awaited = awaited_suspensions_.find(place);
    if (awaited == awaited_suspensions_.end()) {
      suspended_[place].push_back({next->key, next->instance_begin_ticks});
      return;
    }
    next = settle_resumed(*awaited->second.rbegin(), next->instance_begin_ticks);
  }
}

/// Its instance began then. Returns the range where it was suspended again.
std::optional<AssembledRange> HostAssembler::settle_resumed(std::uint64_t key, std::uint64_t instance_begin_ticks) {
  auto [place, range, ended, counts] = early_resumed_.extract(key).mapped();
  const auto awaited = awaited_suspensions_.find(place);
  awaited->second.erase(key);
  if (awaited->second.empty()) awaited_suspensions_.erase(awaited);
  const std::uint64_t begin = std::min(instance_begin_ticks, range.begin_ticks);
  if (ended) {
    range.instance_begin_ticks = begin;
    if (counts.any()) sink_->on_cpu_counts(key, counts);
    sink_->on_range(range);
    return range.suspended ? std::optional{range} : std::nullopt;
  }
  const auto missing = missing_ends_.find({range.thread, label_of(range), range.begin_ticks, key});
  if (missing != missing_ends_.end()) {
    missing->second.instance_begin_ticks = begin;
    return std::nullopt;
  }
  auto& open = threads_[range.thread]->open;  // in the order of their keys
  const auto at = std::lower_bound(open.begin(), open.end(), key,
                                   [](const AssembledRange& each, std::uint64_t wanted) { return each.key < wanted; });
  if (at != open.end() && at->key == key) at->instance_begin_ticks = begin;
  return std::nullopt;
}

/// Of the one that waits for the longest: the end at which it was suspended counts as lost.
void HostAssembler::give_up_suspension() {
  const auto& [key, early] = *early_resumed_.begin();
  if (const auto suspended_again = settle_resumed(key, early.place.first)) suspend(*suspended_again);
}

// ---- what was put off ---------------------------------------------------------------------------------------------

void HostAssembler::end_all_elsewhere() {
  for (std::uint32_t index = 0; index < threads_.size(); ++index)
    if (threads_[index] != nullptr) end_until(index, *threads_[index], ~std::uint64_t{0});
  end_deferred();
}

void HostAssembler::end_deferred() {
  std::stable_sort(deferred_ends_.begin(), deferred_ends_.end(),
                   [](const auto& a, const auto& b) { return a.end.ticks < b.end.ticks; });
  std::erase_if(deferred_ends_, [this](const DeferredEnd& deferred) {
    return end_elsewhere(deferred.owner, deferred.label, deferred.end);
  });
}

}  // namespace rangefinder::importer
