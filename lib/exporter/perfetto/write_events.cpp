// SPDX-License-Identifier: MIT
#include "exporter/perfetto/trace_writer.hpp"

#include <utility>

// How an event becomes packets, once it is its turn.
namespace rangefinder::perfetto {
namespace {

using protozero::pbf_writer;

constexpr char kInstant = 'i';
constexpr char kArrowBegin = 's';
constexpr char kArrowEnd = 'f';

/// The bytes from `from` to `to`.
std::string_view bytes(const char* from, const char* to) noexcept {
  return {from, static_cast<std::size_t>(to - from)};
}

}  // namespace

void TraceWriter::write_held() {
  const char phase = event_.head->phase;
  if (phase == kSlice && !event_.is_stage) event_.row = &rows_.place(*event_.row, event_.begin_ns, event_.end_ns);
  sequence_ = &rows_.sequence(*event_.row, event_.begin_ns);
  introduce_uses();
  switch (phase) {
    case kSlice:
      return event_.is_stage ? write_stage() : write_slice();
    case kInstant:
      return write_instant();
    case kArrowBegin:
    case kArrowEnd:
      return write_arrow();
    default:
      return interned_.clear();
  }
}

void TraceWriter::introduce(Tag tag, std::uint64_t iid, std::string_view text) {
  scratch_.clear();
  pbf_writer(scratch_).add_uint64(interned::kIid, iid);
  add_text(scratch_, interned::kName, text);
  add_message(interned_, tag, scratch_);
}

void TraceWriter::introduce_uses() {
  for (std::size_t i = 0; i < event_.uses_size; ++i) {
    const std::uint32_t use = uses_[event_.uses_at + i], id = use >> 1;
    const std::uint64_t iid = std::uint64_t{id} + 1;
    if (use % 2 == 0) {
      if (sequence_->keys.add(id)) introduce(interned::kAnnotationNames, iid, keys_.text(id));
    } else if (sequence_->texts.add(id)) {
      introduce(interned::kAnnotationTexts, iid, texts_.text(id));
    }
  }
}

void TraceWriter::introduce_names() {
  rows_.describe(*event_.row);
  const Head& head = *event_.head;
  if (sequence_->names.add(head.name))
    introduce(interned::kEventNames, std::uint64_t{head.name} + 1, heads_.names().text(head.name));
  if (head.category != 0 && sequence_->categories.add(head.category))
    introduce(interned::kEventCategories, head.category, heads_.categories().text(head.category));
}

std::uint32_t TraceWriter::clock_for(std::int64_t time_ns) const noexcept {
  if (time_ns >= sequence_->last_ns) return clock_snapshot::kDistance;
  return time_ns >= clock_.begin_ns() ? clock_snapshot::kSinceBegin : clock_snapshot::kMonotonic;
}

PacketHead TraceWriter::head_of(std::int64_t time_ns, std::uint32_t clock) noexcept {
  std::int64_t since_ns = 0;
  if (clock == clock_snapshot::kDistance) since_ns = std::exchange(sequence_->last_ns, time_ns);
  if (clock == clock_snapshot::kSinceBegin) since_ns = clock_.begin_ns();
  return {static_cast<std::uint64_t>(time_ns - since_ns), clock == clock_snapshot::kDistance ? 0 : clock,
          sequence_->id};
}

void TraceWriter::write_packet(Tag tag, std::int64_t time_ns, std::uint32_t clock, std::string_view start,
                               std::string_view middle, std::string_view end) {
  // No flag says that the packet needs what the sequence introduced: it would be a twelfth of all bytes, and a sequence
  // of one file cannot lack its beginning.
  packets_.write(head_of(time_ns, clock), interned_, tag, start, middle, end);
  interned_.clear();
}

void TraceWriter::write_slice() {
  introduce_names();
  char launch[2 * kMaxNumberBytes];
  char* launch_end = launch;
  if (gpu_ == PerfettoGpu::kLinkedStages && event_.head->is_call && event_.correlation != 0) {
    const std::uint64_t id = launch_id();
    launch_end = put_length(launch, track_event::kGpuCorrelation, 1 + varint_bytes(id));
    launch_end = put_number(launch_end, track_event::kSubmittedEventIds, id);
  }
  const std::uint32_t clock = clock_for(event_.begin_ns);
  // Where the number at the begin cannot be above the one at the end, a packet of nothing but its time goes before.
  if (clock == clock_snapshot::kDistance) {
    const auto before = static_cast<std::uint64_t>(event_.begin_ns - sequence_->last_ns);
    const auto length = static_cast<std::uint64_t>(event_.end_ns - event_.begin_ns);
    if (!event_.row->numbers.take(before, length)) packets_.write(head_of(event_.begin_ns, clock));
  }
  write_packet(packet::kTrackEvent, event_.begin_ns, clock, event_.head->start(), arguments_of_event(),
               bytes(launch, launch_end));
  constexpr char kEnd[] = {track_event::kType << 3, track_event::kSliceEnd};
  write_packet(packet::kTrackEvent, event_.end_ns, clock, {kEnd, sizeof kEnd});
}

void TraceWriter::write_instant() {
  introduce_names();
  write_packet(packet::kTrackEvent, event_.begin_ns, clock_for(event_.begin_ns), event_.head->start(),
               arguments_of_event());
}

void TraceWriter::write_counter() {
  const std::uint32_t name = event_.head->name;
  event_.row = &rows_.counter_of(*event_.row, name, heads_.names().text(name));
  sequence_ = &rows_.sequence(*event_.row, event_.begin_ns);
  scratch_.clear();
  pbf_writer sample(scratch_);
  sample.add_enum(track_event::kType, track_event::kCounter);
  if (open_.is_integer)
    sample.add_int64(track_event::kCounterValue, open_.integer);
  else
    sample.add_double(track_event::kDoubleCounterValue, open_.number);
  write_packet(packet::kTrackEvent, event_.begin_ns, clock_for(event_.begin_ns), scratch_);
}

/// An arrow binds to the slices that are open at its two times, as in JSON: slices are written before it is known.
void TraceWriter::write_arrow() {
  introduce_names();
  char legacy[3 * kMaxNumberBytes];
  char* end = put_number(legacy, track_event::kLegacyPhase, static_cast<std::uint64_t>(event_.head->phase));
  end = put_number(end, track_event::kLegacyUnscopedId, event_.correlation);
  if (event_.head->phase == kArrowEnd) end = put_number(end, track_event::kLegacyBindToEnclosing, 1);
  const std::string_view message = bytes(legacy, end);
  char tag[kMaxNumberBytes];
  const std::string_view before = bytes(tag, put_length(tag, track_event::kLegacyEvent, message.size()));
  write_packet(packet::kTrackEvent, event_.begin_ns, clock_for(event_.begin_ns), event_.head->start(), before, message);
}

void TraceWriter::intern_stage(const Specification& specification) {
  const Row& row = *event_.row;
  Sequence& sequence = *sequence_;
  const auto introduce = [&](std::uint64_t iid, std::string_view name, std::string_view description) {
    scratch_.clear();
    pbf_writer entry(scratch_);
    entry.add_uint64(interned::kIid, iid);
    add_text(scratch_, interned::kName, name);
    if (!description.empty()) add_text(scratch_, stage::kSpecificationDescription, description);
    add_message(interned_, interned::kGpuSpecifications, scratch_);
  };
  if (!sequence.has_queue) introduce(queue_iid(row.track), rows_.track(row).label(), rows_.group(row).name);
  sequence.has_queue = true;
  if (sequence.specifications.add(specification.number)) {
    add_message(interned_, interned::kGpuSpecifications, specification.specification);
    if (gpu_ == PerfettoGpu::kLinkedStages && !specification.kernel.empty())
      add_message(interned_, interned::kComputeKernels, specification.kernel);
  }
  if (event_.context != 0 && sequence.contexts.add(event_.context)) {
    scratch_.clear();
    pbf_writer entry(scratch_);
    entry.add_uint64(interned::kIid, event_.context);
    const std::int64_t pid = rows_.group(row).owner.pid;
    if (pid > 0) entry.add_int32(stage::kContextPid, static_cast<std::int32_t>(pid));
    entry.add_enum(stage::kContextApi, stage::kCuda);
    add_message(interned_, interned::kGraphicsContexts, scratch_);
  }
}

void TraceWriter::write_stage() {
  const Specification& specification = *event_.specification;
  intern_stage(specification);
  const bool linked = gpu_ == PerfettoGpu::kLinkedStages;
  char fields[8 * kMaxNumberBytes];
  // Activities of one launch (the nodes of a graph) share the number that their call refers to.
  constexpr std::uint64_t kOwnIds = std::uint64_t{1} << 62;
  const bool is_launched = linked && event_.correlation != 0;
  const std::uint64_t id = is_launched ? launch_id() : linked ? kOwnIds + stages_ : stages_;
  ++stages_;
  char* at = put_number(fields, stage::kEventId, id);
  at = put_number(at, stage::kDuration, static_cast<std::uint64_t>(event_.end_ns - event_.begin_ns));
  at = put_number(at, stage::kHwQueueIid, queue_iid(event_.row->track));
  at = put_number(at, stage::kStageIid, specification.iid());
  if (const std::int64_t gpu = rows_.group(*event_.row).pid; gpu != 0)
    at = put_number(at, stage::kGpuId, static_cast<std::uint64_t>(static_cast<std::int32_t>(gpu)));
  if (event_.context != 0) at = put_number(at, stage::kContext, event_.context);
  if (event_.correlation != 0)
    at = put_number(at, stage::kSubmissionId, static_cast<std::uint32_t>(event_.correlation));
  const bool has_kernel = linked && !specification.kernel.empty();
  if (has_kernel) at = put_number(at, stage::kKernelIid, specification.iid());
  write_packet(packet::kRenderStage, event_.begin_ns, clock_for(event_.begin_ns), bytes(fields, at),
               has_kernel ? std::string_view() : specification.launch, arguments_of_event());
}

}  // namespace rangefinder::perfetto
