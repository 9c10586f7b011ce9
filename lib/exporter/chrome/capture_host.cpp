// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_host.hpp"

#include "exporter/chrome/activity_arguments.hpp"
#include "exporter/chrome/clean_json.hpp"
#include "exporter/chrome/markers.hpp"
#include "exporter/chrome/memory_events.hpp"
#include "exporter/chrome/payload.hpp"
#include "format/node_note.hpp"
#include "importer/capture/operator_texts.hpp"
#include "timeline/autograd_names.hpp"

#include <algorithm>
#include <cstring>

namespace rangefinder::chrome {
namespace {

using importer::AssembledLaunch;
using importer::AssembledOperator;
using importer::AssembledRange;
using importer::AssembledValue;

// More slices of one beginning come only from a clock that stands still; then their order says nothing anyway.
constexpr std::size_t kMaxHeld = 1024;

// What tells where nodes were made, of a thread: enough for the ranges of many steps.
constexpr std::size_t kMaxOrigins = std::size_t{1} << 17;
// Nodes that wait for their thread to tell where they were made. It does with its next record.
constexpr std::size_t kMaxWaitingNodes = std::size_t{1} << 15;

}  // namespace

CaptureHost::CaptureHost(CaptureExport& shared, LaunchTable* launches, FlowWriter& flows)
    : shared_(shared), launches_(launches), flows_(flows), origins_(kMaxOrigins), steps_(shared) {
  for (const format::ThreadRow& row : shared.reader.threads()) {
    constexpr std::uint32_t kMaxThreads = 1u << 20;
    if (row.index >= kMaxThreads) continue;
    if (row.index >= threads_.size()) threads_.resize(row.index + 1);
    threads_[row.index].track = shared.layout.thread(shared.process, row.tid, shared.reader.name(row.name));
    if (first_track_ == kNoTrack) first_track_ = threads_[row.index].track;
    // The system gives a number again when its thread has ended: the last thread of that number is the one that counts.
    index_of_tid_[row.tid] = row.index;
  }
}

std::int64_t CaptureHost::time_of(std::uint64_t ticks) noexcept {
  last_ticks_ = std::max(last_ticks_, ticks);
  return shared_.reader.monotonic_of_ticks(ticks);
}

/// No thread row: damage. Its number is all that is known.
CaptureHost::Thread& CaptureHost::meet_thread(std::uint32_t index) {
  if (index >= threads_.size()) threads_.resize(index + 1);
  Thread& thread = threads_[index];
  thread.track = shared_.table.add_track(shared_.process, std::nullopt, "thread #" + std::to_string(index), 0);
  if (first_track_ == kNoTrack) first_track_ = thread.track;
  return thread;
}

std::uint32_t CaptureHost::index_of_tid(std::uint32_t tid) {
  const auto [found, added] = index_of_tid_.try_emplace(tid, static_cast<std::uint32_t>(threads_.size()));
  if (added) {
    threads_.emplace_back().track = shared_.layout.thread(shared_.process, tid, {});
    if (first_track_ == kNoTrack) first_track_ = threads_.back().track;
  }
  return found->second;
}

TrackId CaptureHost::track_of_tid(std::uint32_t tid) { return threads_[index_of_tid(tid)].track; }

CaptureHost::Range CaptureHost::take(std::vector<Range>& ranges, std::uint64_t key) {
  const auto found = std::find_if(ranges.rbegin(), ranges.rend(), [&](const Range& range) { return range.key == key; });
  if (found == ranges.rend()) return {};
  Range out = std::move(*found);
  ranges.erase(std::next(found).base());
  return out;
}

void CaptureHost::on_begin(const AssembledRange& range) {
  Thread& thread = thread_of(range.thread);
  thread.opened = range.key;
  Range& open = (range.start_end ? thread.start_end : thread.open).emplace_back();
  open.key = range.key;
  open.begin_ns = time_of(range.begin_ticks);
  open.name = range.name;
  open.category = range.category;
  open.is_operator = range.category != 0 && shared_.reader.category(range.category) == "operator";
  if (launches_ != nullptr && !range.start_end) thread.row.range_begins(open.begin_ns);
}

void CaptureHost::on_range(const AssembledRange& range) {
  Thread& thread = thread_of(range.thread);
  Range done = take(range.start_end ? thread.start_end : thread.open, range.key);
  done.end_ns = std::max(done.begin_ns, time_of(range.end_ticks));
  done.unfinished = range.unfinished;
  done.suspended = range.suspended;
  if (range.resumed) done.opened_ns_ago = done.begin_ns - time_of(range.instance_begin_ticks);
  if (launches_ != nullptr && !range.start_end && !range.ended_elsewhere)
    thread.row.range_ends(done.begin_ns, done.end_ns);
  if (shared_.is_before(done.begin_ns, done.end_ns)) return;  // the work of its graphs names it
  shared_.extend(done.begin_ns, done.end_ns);
  const bool inside = done.launches || done.launches_inside;
  if (inside && !range.start_end && !thread.open.empty()) thread.open.back().launches_inside = true;
  if (range.start_end || range.ended_elsewhere) {
    const std::uint32_t level = thread.beside.add(done.begin_ns, done.end_ns);
    if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
    const TrackId track = thread.track;
    return write_range(done, shared_.table.overflow(shared_.layout.beside(track, Beside::kStartEnd), level));
  }
  if (!thread.open.empty() && thread.open.back().begin_ns == done.begin_ns) {
    std::unique_ptr<std::vector<Range>>& held = thread.open.back().held;
    if (held == nullptr) held = std::make_unique<std::vector<Range>>();
    if (held->size() < kMaxHeld) return held->push_back(std::move(done));
  }
  write_range(done, thread.track);
}

void CaptureHost::write_range(const Range& range, TrackId track) {
  if (shared_.in_window(range.begin_ns, range.end_ns)) {
    EventWriter& writer = shared_.writer;
    writer.open_slice(shared_.head(range.is_operator ? Category::kOperator : Category::kAnnotation, range.name),
                      shared_.ids(track), range.begin_ns, range.end_ns);
    if (range.is_linked() || range.is_operator) writer.argument("\"External id\":", range.key);
    if (range.is_operator) write_facts(range);
    if (const std::string_view text = shared_.reader.category(range.category); !text.empty() && !range.is_operator)
      writer.text_argument("\"category\":", text);
    if (const std::string_view domain = shared_.reader.domain(range.category); !domain.empty())
      writer.text_argument("\"domain\":", domain);
    if (const std::string_view colour = shared_.reader.colour(range.category); !colour.empty())
      writer.text_argument("\"color\":", colour);
    if (range.unfinished) writer.text_argument("\"finished\":", "false");
    if (range.suspended) writer.argument("\"suspended\":", 1);
    if (range.opened_ns_ago >= 0) writer.signed_argument("\"opened ns ago\":", range.opened_ns_ago);
    if (range.has_value) write_value(range.value);
    writer.close();
  }
  if (range.held == nullptr) return;
  for (const Range& inner : *range.held) write_range(inner, track);
}

void CaptureHost::write_facts(const Range& range) {
  const std::string_view text = range.inputs != 0 ? shared_.reader.name(range.inputs) : std::string_view{};
  const importer::OperatorInputs inputs = importer::split_inputs(text);
  write_operator_arguments(shared_.writer,
                           {range.sequence, range.forward_thread, inputs.shapes, inputs.types, inputs.values});
}

void CaptureHost::write_value(const Value& value) {
  using detail::ExtraKind;
  const PayloadType type = value.kind == ExtraKind::kText     ? PayloadType::kText
                           : value.kind == ExtraKind::kDouble ? PayloadType::kDouble
                           : value.kind == ExtraKind::kSigned ? PayloadType::kSigned
                                                              : PayloadType::kUnsigned;
  std::string text;
  if (type == PayloadType::kText) text = shared_.text(static_cast<format::NameId>(value.bits));
  write_payload(shared_.writer, type, value.bits, text);
}

void CaptureHost::on_operator(const AssembledOperator& facts) {
  std::vector<Range>& open = thread_of(facts.thread).open;
  if (open.empty() || open.back().key != facts.range) return;
  Range& mine = open.back();
  mine.sequence = facts.sequence;
  mine.forward_thread = facts.forward_thread;
  mine.inputs = facts.inputs;
  if (facts.forward_thread == 0 || open.size() < 2) return;
  Range& outer = open[open.size() - 2];
  if (!timeline::evaluates(shared_.reader.name(outer.name), shared_.reader.name(mine.name))) return;
  outer.sequence = facts.sequence;
  outer.forward_thread = facts.forward_thread;
}

void CaptureHost::on_launch(const AssembledLaunch& launch) {
  const std::int64_t time = time_of(launch.ticks);
  Thread& thread = thread_of(launch.thread);
  for (std::vector<Range>* ranges : {&thread.open, &thread.start_end}) {
    if (!ranges->empty() && ranges->back().key == launch.range) ranges->back().launches = true;
  }
  for (Range& around : thread.start_end) around.launches_inside = true;
  if (launches_ == nullptr || launch.callback == format::kNodeNote) return;  // which causes no activity
  NotedLaunch noted{launch.range, {}};
  if (!thread.open.empty()) noted.anchor = {thread.track, time, time + 1};
  launches_->note(static_cast<std::uint32_t>(launch.correlation), noted);
}

/// What nodes run belongs to the ranges where they were made, which then are on devices.
void CaptureHost::on_sequence(const importer::AssembledSequence& sequence) {
  origins_.add(sequence);
  if (launches_ == nullptr) return;
  Thread& thread = thread_of(sequence.thread);
  if (!thread.open.empty()) thread.open.back().launches_inside = true;
  for (Range& around : thread.start_end) around.launches_inside = true;
}

void CaptureHost::on_value(std::uint32_t index, const AssembledValue& value) {
  Thread& thread = thread_of(index);
  if (value.of == AssembledValue::Of::kMark) {
    if (thread.mark) thread.mark->value = Value{value.kind, value.bits};
    return;
  }
  for (std::vector<Range>* ranges : {&thread.open, &thread.start_end}) {
    if (ranges->empty() || ranges->back().key != value.range) continue;
    ranges->back().has_value = true;
    ranges->back().value = {value.kind, value.bits};
  }
}

void CaptureHost::on_mark(std::uint32_t index, std::uint64_t ticks, std::uint32_t name, std::uint32_t category) {
  Thread& thread = thread_of(index);
  write_mark(thread);
  if (shared_.is_before(time_of(ticks), time_of(ticks))) return;
  thread.mark = Mark{time_of(ticks), name, category, {}};
}

void CaptureHost::write_mark(Thread& thread) {
  if (!thread.mark) return;
  const Mark mark = *std::exchange(thread.mark, std::nullopt);
  shared_.extend(mark.time_ns, mark.time_ns);
  if (!shared_.in_window(mark.time_ns, mark.time_ns)) return;
  scratch_.clear();
  append_head(scratch_, 'i', shared_.reader.category(mark.category), shared_.text(mark.name));
  scratch_ += ",\"s\":\"t\"";
  shared_.writer.open_point(scratch_, shared_.ids(thread.track), mark.time_ns);
  if (const std::string_view domain = shared_.reader.domain(mark.category); !domain.empty())
    shared_.writer.text_argument("\"domain\":", domain);
  if (const std::string_view colour = shared_.reader.colour(mark.category); !colour.empty())
    shared_.writer.text_argument("\"color\":", colour);
  if (mark.value) write_value(*mark.value);
  shared_.writer.close();
}

void CaptureHost::on_counter(std::uint32_t index, std::uint64_t ticks, std::uint32_t name,
                             const AssembledValue& value) {
  const std::int64_t time = time_of(ticks);
  if (shared_.is_before(time, time)) return;
  shared_.extend(time, time);
  if (!shared_.options.counters || !shared_.in_window(time, time)) return;
  const std::string text = shared_.text(name);
  CounterSample sample;
  sample.name = text;
  sample.is_integer = value.kind != detail::ExtraKind::kDouble;
  sample.integer = static_cast<std::int64_t>(value.bits);
  std::memcpy(&sample.number, &value.bits, sizeof sample.number);
  if (!write_counter(shared_.writer, shared_.ids(thread_of(index).track), time, sample))
    shared_.notes.add(ExportNotes::kNotFinite);
}

void CaptureHost::on_memory(const importer::AssembledMemory& memory) {
  const std::int64_t time = time_of(memory.ticks);
  if (shared_.is_before(time, time)) return;
  shared_.extend(time, time);
  if (!shared_.in_window(time, time)) return;
  write_memory(shared_.writer, shared_.ids(thread_of(memory.thread).track), time,
               {memory.action, memory.device, memory.address(), memory.bytes(),
                std::max<std::int64_t>(memory.allocated(), -1), std::max<std::int64_t>(memory.reserved(), -1)},
               shared_.options.counters);
}

void CaptureHost::on_step(const importer::AssembledStep& step) {
  steps_.note(step.thread, step.number, time_of(step.ticks), step.recorded);
}

void CaptureHost::add_slice(std::uint32_t tid, const ThreadSlice& slice) {
  const std::uint32_t index = index_of_tid(tid);
  Thread& thread = threads_[index];
  if (thread.slices.empty()) with_slices_.push_back(index);
  thread.slices.push_back(slice);
}

void CaptureHost::place_slices(std::int64_t host_ns, std::int64_t slices_ns) {
  std::erase_if(with_slices_, [&](std::uint32_t index) {
    Thread& thread = threads_[index];
    while (!thread.slices.empty() && thread.slices.front().end_ns <= host_ns) {
      place_slice(thread, thread.slices.front());
      thread.slices.pop_front();
    }
    return thread.slices.empty();
  });
  for (Thread& thread : threads_)
    thread.row.forget_before(thread.slices.empty() ? slices_ns : std::min(slices_ns, thread.slices.front().begin_ns));
}

void CaptureHost::place_slice(Thread& thread, const ThreadSlice& slice) {
  const std::uint32_t level = thread.row.place_call(slice.begin_ns, slice.end_ns);
  if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
  const TrackId track = shared_.table.overflow(thread.track, level);
  const bool wanted = shared_.in_window(slice.begin_ns, slice.end_ns);
  if (wanted) write_slice(slice, track);
  if (slice.is_call && launches_ != nullptr) {
    // Not written: nothing an arrow could begin at.
    launches_->place_call(slice.correlation, {wanted ? track : kNoTrack, slice.begin_ns, slice.end_ns});
  }
}

void CaptureHost::write_slice(const ThreadSlice& slice, TrackId track) {
  shared_.writer.open_slice(slice.head, shared_.ids(track), slice.begin_ns, slice.end_ns);
  if (slice.is_call) {
    const NotedLaunch* const launch = launches_->find(slice.correlation);
    const bool linked = launch != nullptr && launch->range != 0;
    write_call_arguments(shared_.writer, {slice.correlation, linked ? static_cast<std::int64_t>(launch->range) : -1,
                                          slice.callback_id, slice.result});
  }
  shared_.writer.close();
}

void CaptureHost::on_node_begin(const importer::AssembledNode& node) {
  if (launches_ != nullptr) thread_of(node.thread).row.range_begins(time_of(node.begin_ticks));
}

void CaptureHost::on_node(const importer::AssembledNode& node) {
  const std::int64_t begin = time_of(node.begin_ticks);
  const std::int64_t end = std::max(begin, time_of(node.end_ticks));
  if (launches_ != nullptr) thread_of(node.thread).row.range_ends(begin, end);
  if (begin < shared_.start_ns) return;  // of a captured backward
  shared_.extend(begin, end);
  nodes_.push_back(node);
  write_nodes(kMaxWaitingNodes);
}

void CaptureHost::write_nodes(std::size_t most) {
  const auto is_ready = [&](const importer::AssembledNode& node) {
    return node.sequence < 0 || origins_.find(node) != nullptr;
  };
  while (!nodes_.empty() && (nodes_.size() > most || is_ready(nodes_.front()))) {
    write_node(nodes_.front());
    nodes_.pop_front();
  }
}

void CaptureHost::write_node(const importer::AssembledNode& node) {
  const std::int64_t begin = time_of(node.begin_ticks);
  const std::int64_t end = std::max(begin, time_of(node.end_ticks));
  if (!shared_.in_window(begin, end)) return;
  const TrackId track = thread_of(node.thread).track;
  const importer::NodeOrigins::Origin* const origin = origins_.find(node);
  NodeFacts facts{node.sequence, 0, kNoTime};
  std::int64_t told_ns = 0;
  TrackId forward_thread = kNoTrack;
  if (origin != nullptr) {
    told_ns = time_of(origin->ticks);
    forward_thread = thread_of(origin->thread).track;
    facts.made_ns = told_ns + 1;  // behind the record at that time, as a loaded capture has it
    facts.forward_tid = shared_.table.track(forward_thread).tid;
  }
  if (node.range == 0) {  // else an operator's slice is the node's
    shared_.writer.open_slice(shared_.head(Category::kOperator, node.name), shared_.ids(track), begin, end);
    write_node_arguments(shared_.writer, facts);
    shared_.writer.close();
  }
  const std::int64_t slice_begin = node.range == 0 ? begin : time_of(node.range_begin_ticks);
  if (shared_.options.flows && origin != nullptr && origin->in_range && shared_.in_window(told_ns, told_ns))
    flows_.forward_backward({shared_.ids(forward_thread), told_ns, told_ns + 1},
                            {shared_.ids(track), slice_begin, end});
}

void CaptureHost::finish() {
  write_nodes(0);
  place_slices(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max());
  for (Thread& thread : threads_) write_mark(thread);
  steps_.finish();
}

}  // namespace rangefinder::chrome
