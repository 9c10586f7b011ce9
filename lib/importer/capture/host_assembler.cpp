// SPDX-License-Identifier: MIT
#include "importer/capture/host_assembler.hpp"

#include "format/node_note.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::importer {
namespace {

using detail::ExtraKind;
using detail::Record;
using detail::RecordKind;
using detail::word_aux;
using detail::word_category;
using detail::word_id;
using detail::word_kind;

}  // namespace

HostAssembler::Thread& HostAssembler::thread_at(std::uint32_t index) {
  if (index >= threads_.size()) threads_.resize(index + 1);
  if (threads_[index] == nullptr) {
    threads_[index] = std::make_unique<Thread>();
    if (auto early = early_foreign_ends_.extract(index)) threads_[index]->ends_to_come = std::move(early.mapped());
  }
  return *threads_[index];
}

HostAssembler::Thread* HostAssembler::find_thread(std::uint32_t index) noexcept {
  return index < threads_.size() ? threads_[index].get() : nullptr;
}

void HostAssembler::feed(const format::HostEvents& events) {
  const std::uint32_t index = events.run.thread;
  if (index >= kMaxThreads) {
    health_.unmatched_ends += events.records.size();
    return;
  }
  Thread& thread = thread_at(index);
  note_gap(thread, events.run, events.records.size());
  for (const Record& record : events.records) on_record(index, thread, record);
}

/// Records may be missing before a run: then what was noted last is unknown. Blocks of the host are said by what
/// their own block of records holds.
void HostAssembler::note_gap(Thread& thread, const format::HostRun& run, std::size_t records) noexcept {
  const bool goes_on = run.block_sequence == thread.block && run.first_record == thread.next_record;
  const bool next_block = run.block_sequence == thread.block + 1 && run.first_record == 0;
  if (!goes_on && !next_block) thread.noted = -1;
  if (!goes_on) {
    thread.host_sizes.clear();
    thread.host_total = -1;
  }
  thread.block = run.block_sequence;
  thread.next_record = std::uint64_t{run.first_record} + records;
}

void HostAssembler::on_record(std::uint32_t index, Thread& thread, const Record& record) {
  const RecordKind kind = word_kind(record.word);
  if (kind == RecordKind::kExtra) return on_extra(index, thread, record);
  settle_started(thread);
  end_memory(thread);
  end_collective(thread);
  if (kind == RecordKind::kOperator) return on_facts(thread, record);
  thread.pending = {};
  if (kind == RecordKind::kSequence)
    return note_number(index, thread, record.ticks, word_aux(record.word), word_id(record.word) != 0);
  if (kind == RecordKind::kHostBlockFact) return on_host_fact(thread, record);
  if (kind == RecordKind::kThreadEvent) {
    const auto count = static_cast<std::int64_t>(record.ticks);
    if (word_aux(record.word) < kCpuEvents && count >= 0) thread.cpu_events.count[word_aux(record.word)] = count;
    return;
  }
  if (!thread.ends_to_come.empty()) end_until(index, thread, record.ticks);
  if (kind == RecordKind::kEnd && (word_aux(record.word) & detail::kTookOneNumber) != 0 && thread.noted >= 0)
    note_number(index, thread, static_cast<std::uint64_t>(thread.noted) + 1, thread.sequence->forward_thread, false);
  thread.last_ticks = record.ticks;
  switch (kind) {
    case RecordKind::kBegin:
      open_range(index, thread, record);
      thread.pending = record;
      return;
    case RecordKind::kEnd:
      return close_range(thread, record);
    case RecordKind::kLaunch: {
      AssembledLaunch launch;
      launch.ticks = record.ticks;
      launch.range = innermost(thread);
      launch.correlation = format::launch_key(word_id(record.word), word_aux(record.word));
      launch.thread = index;
      launch.callback = word_aux(record.word);
      return sink_->on_launch(launch);
    }
    case RecordKind::kMark:
      sink_->on_mark(index, record.ticks, word_id(record.word), word_category(record.word));
      thread.pending = record;
      return;
    case RecordKind::kNodeBegin:
      thread.nodes.push_back({record.ticks, 0, -1, word_id(record.word), index, word_aux(record.word)});
      sink_->on_node_begin(thread.nodes.back());
      thread.pending = record;
      return;
    case RecordKind::kNodeEnd:
      for (std::uint32_t i = word_id(record.word); i > 0 && !thread.nodes.empty(); --i) end_node(thread, record.ticks);
      return;
    case RecordKind::kMemory:
      return begin_memory(index, thread, record);
    case RecordKind::kCollective:
      return begin_collective(index, thread, record);
    case RecordKind::kHostBlock:
      return on_host_block(index, thread, record);
    case RecordKind::kStep:
      sink_->on_step({record.ticks, word_id(record.word), index, word_aux(record.word) != detail::kStepNotRecorded});
      thread.pending = record;
      return;
    case RecordKind::kLostEnds:
      for (std::uint32_t i = word_id(record.word); i > 0 && !thread.open.empty(); --i) close_top(thread, record.ticks);
      return;
    case RecordKind::kCounter:
    case RecordKind::kAsyncBegin:
    case RecordKind::kAsyncEnd:
    case RecordKind::kForeignEnd:
    case RecordKind::kCollectivePhase:
      thread.pending = record;
      return;  // the next record holds what is missing
    default:
      return;
  }
}

void HostAssembler::end_node(Thread& thread, std::uint64_t ticks) {
  AssembledNode node = thread.nodes.back();
  thread.nodes.pop_back();
  node.end_ticks = std::max(ticks, node.begin_ticks);
  sink_->on_node(node);
}

std::uint64_t HostAssembler::innermost(const Thread& thread) noexcept {
  const std::uint64_t scoped = innermost_scoped(thread);
  const std::uint64_t start_end = thread.open_start_end.empty() ? 0 : *thread.open_start_end.rbegin();
  return std::max(scoped, start_end);  // keys grow with time: the one that began last
}

AssembledSequence HostAssembler::to_come(const Thread& thread) noexcept {
  AssembledSequence all;
  all.next = ~std::uint64_t{0};
  all.ticks = thread.last_ticks;
  all.thread = thread.sequence->thread;
  all.forward_thread = thread.sequence->forward_thread;
  all.range = innermost(thread);
  all.scoped = innermost_scoped(thread);
  return all;
}

void HostAssembler::note_number(std::uint32_t index, Thread& thread, std::uint64_t next, std::uint32_t forward_thread,
                                bool resumed) {
  if (!resumed && thread.noted == static_cast<std::int64_t>(next)) return;  // each block of records notes it anew
  thread.sequence = {
      next, thread.last_ticks, index, forward_thread, resumed, innermost(thread), innermost_scoped(thread)};
  thread.noted = static_cast<std::int64_t>(next);
  sink_->on_sequence(*thread.sequence);
}

// ---- scoped ranges ----------------------------------------------------------------------------------------------

void HostAssembler::open_range(std::uint32_t index, Thread& thread, const Record& record) {
  AssembledRange range;
  range.key = ++last_key_;
  range.parent = thread.open.empty() ? 0 : thread.open.back().key;
  range.under = innermost(thread);
  range.begin_ticks = record.ticks;
  range.name = word_id(record.word);
  range.category = word_category(record.word);
  range.thread = range.end_thread = index;
  range.depth = static_cast<std::uint32_t>(thread.open.size());
  range.resumed = (word_aux(record.word) & detail::kResumed) != 0;
  range.instance_begin_ticks = record.ticks;
  if (thread.deep_known && thread.open.size() >= kNearby) ++thread.deep[label_of(range)];
  thread.open.push_back(range);
  const bool as_before =
      !thread.counts_before.empty() && thread.counts_before.back().second.count == thread.cpu_events.count;
  if (!as_before && thread.cpu_events.any()) thread.counts_before.emplace_back(range.key, thread.cpu_events);
  if (!thread.nodes.empty()) {
    AssembledNode& node = thread.nodes.back();
    if (node.range == 0 && node.name == range.name) {
      node.range = range.key;
      node.range_begin_ticks = range.begin_ticks;
    }
  }
  sink_->on_begin(range);
  if ((word_aux(record.word) & detail::kHasNotedNumber) != 0 && thread.noted >= 0)
    report_operator(range, thread.noted, 0, 0);
}

/// Where every end closes the range on top, nobody asks, and nothing is counted.
bool HostAssembler::is_deep(Thread& thread, Label label) {
  for (std::size_t at = kNearby; at < thread.open.size() && !thread.deep_known; ++at)
    ++thread.deep[label_of(thread.open[at])];
  thread.deep_known = true;
  return thread.deep.count(label) != 0;
}

/// The innermost open range of that label.
bool HostAssembler::find_open(Thread& thread, Label label, std::size_t& position) {
  std::size_t at = thread.open.size();
  // What is not among the deep ones is not looked for there; what is, is found, and all above it closes.
  if (at > kNearby && label_of(thread.open.back()) != label && !is_deep(thread, label)) at = kNearby;
  while (at-- > 0) {
    if (label_of(thread.open[at]) == label) return position = at, true;
  }
  return false;
}

AssembledRange HostAssembler::take_open(Thread& thread, std::size_t position) {
  const AssembledRange range = thread.open[position];
  if (thread.deep_known && thread.open.size() > kNearby) {
    // The one that leaves the deep ones: itself, or the lowest of them, which moves down.
    const auto deep = thread.deep.find(label_of(thread.open[std::max(position, kNearby)]));
    if (--deep->second == 0) thread.deep.erase(deep);
  }
  thread.open.erase(thread.open.begin() + static_cast<std::ptrdiff_t>(position));
  return range;
}

void HostAssembler::close_top(Thread& thread, std::uint64_t ticks, bool suspended) {
  AssembledRange range = take_open(thread, thread.open.size() - 1);
  range.end_ticks = std::max(ticks, range.begin_ticks);
  range.suspended = suspended;
  report(range, take_cpu_counts(thread, range.key));
}

CpuCounts HostAssembler::take_cpu_counts(Thread& thread, std::uint64_t range) {
  auto& before = thread.counts_before;
  const auto drop_behind = [&](std::uint64_t key) {
    while (!before.empty() && before.back().first > key) before.pop_back();
  };
  drop_behind(range);  // of ranges that ended elsewhere, or never
  CpuCounts counts;
  if (before.empty()) return counts;
  for (std::size_t event = 0; event < kCpuEvents; ++event) {
    const std::int64_t first = before.back().second.count[event], last = thread.cpu_events.count[event];
    if (first >= 0 && last >= first) counts.count[event] = last - first;
  }
  drop_behind(thread.open.empty() ? 0 : thread.open.back().key);
  return counts;
}

void HostAssembler::close_range(Thread& thread, const Record& record) {
  std::size_t position = 0;
  if (!find_open(thread, label_of(record.word), position)) {
    ++health_.unmatched_ends;
    return;
  }
  // Ranges inside it whose end is missing ended on another thread, or the end was damaged.
  while (thread.open.size() > position + 1) {
    only_nests_ = false;
    AssembledRange range = take_open(thread, thread.open.size() - 1);
    range.end_ticks = std::max(record.ticks, range.begin_ticks);
    missing_ends_.emplace(MissingPlace{range.thread, label_of(range), range.begin_ticks, range.key}, range);
  }
  const bool suspended = (word_aux(record.word) & detail::kSuspended) != 0;
  if (suspended) only_nests_ = false;
  close_top(thread, record.ticks, suspended);
}

void HostAssembler::report_unfinished(AssembledRange range, std::uint64_t end_ticks) {
  range.end_ticks = std::max(end_ticks, range.begin_ticks);
  range.unfinished = true;
  ++health_.unfinished_ranges;
  report(range);
}

void HostAssembler::report(const AssembledRange& range, const CpuCounts& counts) {
  if (range.resumed && !early_resumed_.empty()) {
    if (const auto early = early_resumed_.find(range.key); early != early_resumed_.end()) {
      early->second.range = range;
      early->second.counts = counts;
      early->second.ended = true;
      return;
    }
  }
  if (counts.any()) sink_->on_cpu_counts(range.key, counts);
  sink_->on_range(range);
  if (range.suspended) suspend(range);
}

void HostAssembler::on_facts(Thread& thread, const Record& record) {
  const bool is_behind_begin = word_kind(thread.pending.word) == RecordKind::kBegin;
  thread.pending = {};
  if (!is_behind_begin || thread.open.empty()) return;  // the begin was lost, and is counted
  const std::int64_t sequence = std::max<std::int64_t>(static_cast<std::int64_t>(record.ticks), -1);
  report_operator(thread.open.back(), sequence, word_aux(record.word), word_id(record.word));
}

void HostAssembler::report_operator(const AssembledRange& range, std::int64_t sequence, std::uint32_t forward_thread,
                                    std::uint32_t inputs) {
  AssembledOperator facts;
  facts.range = range.key;
  facts.parent = range.parent;
  facts.thread = range.thread;
  facts.sequence = sequence;
  facts.forward_thread = forward_thread;
  facts.inputs = inputs;
  sink_->on_operator(facts);
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
      if ((word_aux(base.word) & detail::kResumed) != 0) {
        if (!thread.open.empty()) resume(thread.open.back(), number);
        return;
      }
      value.of = AssembledValue::Of::kRange;
      value.range = thread.open.empty() ? 0 : thread.open.back().key;
      return sink_->on_value(index, value);
    case RecordKind::kNodeBegin:
      if (thread.nodes.empty()) return;
      thread.nodes.back().sequence = static_cast<std::int64_t>(number);
      return;
    case RecordKind::kMemory:
      if (thread.memory.known < AssembledMemory::kValues) thread.memory.values[thread.memory.known++] = number;
      thread.pending = base;  // more may follow
      return;
    case RecordKind::kCollective:
      thread.collective.take(value.bits);
      thread.pending = base;  // more may follow
      return;
    case RecordKind::kCollectivePhase:
      return on_collective_phase(index, base, static_cast<std::uint32_t>(number));
    case RecordKind::kMark:
      value.of = AssembledValue::Of::kMark;
      return sink_->on_value(index, value);
    case RecordKind::kStep:
      return sink_->on_step_items(index, number);
    case RecordKind::kCounter:
      value.of = AssembledValue::Of::kCounter;
      return sink_->on_counter(index, base.ticks, word_id(base.word), value);
    case RecordKind::kAsyncBegin:
      if (thread.started != 0) {
        value.range = thread.started;
        sink_->on_value(index, value);
        return settle_started(thread);
      }
      begin_start_end(index, thread, base, number);
      thread.pending = base;  // a value may follow
      return;
    case RecordKind::kAsyncEnd: {
      const auto found = start_end_.find(number);
      Thread* const owner = found != start_end_.end() ? find_thread(found->second.thread) : nullptr;
      if (owner != nullptr && owner->last_ticks < base.ticks && owner != &thread)
        owner->ends_to_come.insert({base.ticks, {true, number, index}});
      else
        end_start_end(number, {base.ticks, index});
      return;
    }
    case RecordKind::kForeignEnd:
      return on_foreign_end(static_cast<std::uint32_t>(std::min<std::uint64_t>(number, kMaxThreads)), base, index);
    default:
      return;
  }
}

// ---- the end ----------------------------------------------------------------------------------------------------

void HostAssembler::finish(std::uint64_t end_ticks) {
  for (const auto& thread : threads_)
    if (thread != nullptr) settle_started(*thread);
  end_all_elsewhere();
  health_.unmatched_ends += deferred_ends_.size();
  deferred_ends_.clear();
  for (const auto& [owner, ends] : early_foreign_ends_) health_.unmatched_ends += ends.size();
  early_foreign_ends_.clear();
  health_.unmatched_ends += early_ends_.size();
  early_ends_.clear();
  while (!early_resumed_.empty()) give_up_suspension();
  // In the order in which they began, so that the same capture gives the same output.
  std::vector<AssembledRange> rest;
  for (const auto& [place, range] : missing_ends_) rest.push_back(range);
  missing_ends_.clear();
  const auto still_open = [&](AssembledRange range) {
    range.end_ticks = end_ticks;
    rest.push_back(range);
  };
  for (const auto& thread : threads_) {
    if (thread == nullptr) continue;
    end_memory(*thread);
    end_collective(*thread);
    thread->pending = {};
    if (thread->sequence.has_value()) {
      sink_->on_sequence(to_come(*thread));
      thread->sequence.reset();
    }
    while (!thread->nodes.empty()) end_node(*thread, end_ticks);
    std::for_each(thread->open.begin(), thread->open.end(), still_open);
    thread->open = std::vector<AssembledRange>();  // a deep stack takes much memory
    thread->deep = {};
    thread->deep_known = false;
    thread->open_start_end.clear();
  }
  for (const auto& [handle, range] : start_end_) still_open(range);
  start_end_.clear();
  std::sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  for (const AssembledRange& range : rest) report_unfinished(range, range.end_ticks);
  for (const auto& [when, ranges] : suspended_) {
    for (const Suspended& range : ranges) sink_->on_not_resumed(range.key);
    health_.unfinished_ranges += ranges.size();
  }
  suspended_.clear();
}

}  // namespace rangefinder::importer
