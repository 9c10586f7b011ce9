// SPDX-License-Identifier: MIT
#include "timeline/host_assembler.hpp"

#include <algorithm>

namespace rangefinder::timeline {
namespace {

using detail::ExtraKind;
using detail::Record;
using detail::RecordKind;
using detail::word_aux;
using detail::word_id;
using detail::word_kind;

// A file may name any thread index; beyond this it is damaged, and its records are not worth a table.
constexpr std::uint32_t kMaxThreads = 1u << 20;

}  // namespace

void HostAssembler::feed(const format::HostEvents& events) {
  const std::uint32_t index = events.run.thread;
  if (index >= kMaxThreads) {
    health_.unmatched_ends += events.records.size();
    return;
  }
  if (index >= threads_.size()) threads_.resize(index + 1);
  for (const Record& record : events.records) on_record(index, threads_[index], record);
}

void HostAssembler::on_record(std::uint32_t index, Thread& thread, const Record& record) {
  const RecordKind kind = word_kind(record.word);
  if (kind == RecordKind::kExtra) return on_extra(index, thread, record);
  thread.pending = {};
  switch (kind) {
    case RecordKind::kBegin:
      open_range(index, thread, record);
      thread.pending = record;
      return;
    case RecordKind::kEnd: return close_range(thread, record);
    case RecordKind::kLaunch: {
      AssembledLaunch launch;
      launch.ticks = record.ticks;
      launch.range = innermost(thread);
      launch.correlation = word_id(record.word);
      launch.thread = index;
      launch.callback = word_aux(record.word);
      return sink_.on_launch(launch);
    }
    case RecordKind::kMark:
      sink_.on_mark(index, record.ticks, word_id(record.word), word_aux(record.word));
      thread.pending = record;
      return;
    case RecordKind::kStep: return sink_.on_step(index, record.ticks, word_id(record.word));
    case RecordKind::kLostEnds:
      for (std::uint32_t i = word_id(record.word); i > 0 && !thread.open.empty(); --i) close_top(thread, record.ticks, false);
      return;
    case RecordKind::kCounter:
    case RecordKind::kAsyncBegin:
    case RecordKind::kAsyncEnd:
    case RecordKind::kForeignEnd: thread.pending = record; return;  // the next record holds what is missing
    default: return;
  }
}

std::uint64_t HostAssembler::innermost(const Thread& thread) noexcept {
  const std::uint64_t scoped = thread.open.empty() ? 0 : thread.open.back().key;
  const std::uint64_t start_end = thread.open_start_end.empty() ? 0 : thread.open_start_end.back();
  return std::max(scoped, start_end);  // keys grow with time: the one that began last
}

void HostAssembler::open_range(std::uint32_t index, Thread& thread, const Record& record) {
  AssembledRange range;
  range.key = ++last_key_;
  range.parent = thread.open.empty() ? 0 : thread.open.back().key;
  range.begin_ticks = record.ticks;
  range.name = word_id(record.word);
  range.category = word_aux(record.word);
  range.thread = range.end_thread = index;
  range.depth = static_cast<std::uint32_t>(thread.open.size());
  thread.open.push_back(range);
}

void HostAssembler::close_top(Thread& thread, std::uint64_t ticks, bool unfinished) {
  AssembledRange range = thread.open.back();
  thread.open.pop_back();
  range.end_ticks = std::max(ticks, range.begin_ticks);
  range.unfinished = unfinished;
  if (unfinished) ++health_.unfinished_ranges;
  sink_.on_range(range);
}

void HostAssembler::close_range(Thread& thread, const Record& record) {
  const std::uint32_t name = word_id(record.word);
  const auto match = std::find_if(thread.open.rbegin(), thread.open.rend(), [&](const AssembledRange& r) { return r.name == name; });
  if (match == thread.open.rend()) {
    ++health_.unmatched_ends;
    return;
  }
  // Ranges inside it whose end is missing (damage, an end on another thread) cannot have outlived it.
  const auto keep = static_cast<std::size_t>(thread.open.rend() - match);
  while (thread.open.size() > keep) close_top(thread, record.ticks, true);
  close_top(thread, record.ticks, false);
}

void HostAssembler::on_extra(std::uint32_t index, Thread& thread, const Record& record) {
  const Record base = thread.pending;
  thread.pending = {};
  AssembledValue value;
  value.kind = static_cast<ExtraKind>(word_aux(record.word));
  value.bits = value.kind == ExtraKind::kText ? word_id(record.word) : record.ticks;
  const std::uint64_t number = record.ticks;
  switch (word_kind(base.word)) {
    case RecordKind::kBegin:
      value.of = AssembledValue::Of::kRange;
      value.range = thread.open.empty() ? 0 : thread.open.back().key;
      return sink_.on_value(index, value);
    case RecordKind::kMark: value.of = AssembledValue::Of::kMark; return sink_.on_value(index, value);
    case RecordKind::kCounter:
      value.of = AssembledValue::Of::kCounter;
      return sink_.on_counter(index, base.ticks, word_id(base.word), value);
    case RecordKind::kAsyncBegin: return begin_start_end(index, thread, base, number);
    case RecordKind::kAsyncEnd: return end_start_end(number, {base.ticks, index});
    case RecordKind::kForeignEnd:
      if (number < kMaxThreads && !end_elsewhere(static_cast<std::uint32_t>(number), word_id(base.word), {base.ticks, index}))
        deferred_ends_.push_back({static_cast<std::uint32_t>(number), word_id(base.word), {base.ticks, index}});
      return;
    default: return;
  }
}

void HostAssembler::begin_start_end(std::uint32_t index, Thread& thread, const Record& record, std::uint64_t handle) {
  AssembledRange range;
  range.key = ++last_key_;
  range.begin_ticks = record.ticks;
  range.name = word_id(record.word);
  range.category = word_aux(record.word);
  range.thread = range.end_thread = index;
  range.start_end = true;
  start_end_[handle] = range;
  thread.open_start_end.push_back(range.key);
  // Its end may have been read before: another thread's records stand elsewhere in the file.
  if (const auto early = early_ends_.find(handle); early != early_ends_.end()) {
    const End end = early->second;
    early_ends_.erase(early);
    end_start_end(handle, end);
  }
}

void HostAssembler::end_start_end(std::uint64_t handle, End end) {
  const auto found = start_end_.find(handle);
  if (found == start_end_.end()) {
    early_ends_[handle] = end;
    return;
  }
  AssembledRange range = found->second;
  start_end_.erase(found);
  std::erase(threads_[range.thread].open_start_end, range.key);
  range.end_ticks = std::max(end.ticks, range.begin_ticks);
  range.end_thread = end.thread;
  range.ended_elsewhere = end.thread != range.thread;
  sink_.on_range(range);
}

bool HostAssembler::end_elsewhere(std::uint32_t owner, std::uint32_t name, End end) {
  if (owner >= threads_.size()) return false;
  auto& open = threads_[owner].open;
  const auto match = std::find_if(open.rbegin(), open.rend(), [&](const AssembledRange& r) {
    return r.name == name && r.begin_ticks <= end.ticks;
  });
  if (match == open.rend()) return false;
  AssembledRange range = *match;
  open.erase(std::next(match).base());
  range.end_ticks = std::max(end.ticks, range.begin_ticks);
  range.end_thread = end.thread;
  range.ended_elsewhere = true;
  sink_.on_range(range);
  return true;
}

void HostAssembler::finish(std::uint64_t end_ticks) {
  for (const DeferredEnd& deferred : deferred_ends_) {
    if (!end_elsewhere(deferred.owner, deferred.name, deferred.end)) ++health_.unmatched_ends;
  }
  deferred_ends_.clear();
  health_.unmatched_ends += early_ends_.size();
  early_ends_.clear();
  for (Thread& thread : threads_) {
    while (!thread.open.empty()) close_top(thread, end_ticks, true);
    thread.open_start_end.clear();
  }
  // In the order in which they began, so that the same capture gives the same output.
  std::vector<AssembledRange> rest;
  for (const auto& [handle, range] : start_end_) rest.push_back(range);
  start_end_.clear();
  std::sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  for (AssembledRange& range : rest) {
    range.end_ticks = std::max(end_ticks, range.begin_ticks);
    range.unfinished = true;
    ++health_.unfinished_ranges;
    sink_.on_range(range);
  }
}

}  // namespace rangefinder::timeline
