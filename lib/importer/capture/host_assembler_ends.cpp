// SPDX-License-Identifier: MIT
// Ranges that need not nest: start/end ranges, and scoped ones that end on another thread.
#include "importer/capture/host_assembler.hpp"

#include <algorithm>
#include <iterator>
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
  sink_->on_range(range);
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
  sink_->on_range(range);
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
  sink_->on_range(range);
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
