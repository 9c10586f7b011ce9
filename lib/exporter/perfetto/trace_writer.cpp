// SPDX-License-Identifier: MIT
#include "exporter/perfetto/trace_writer.hpp"

#include "base/scaled_decimal.hpp"
#include "exporter/chrome/clean_json.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder::perfetto {
namespace {

using chrome::RawMember;
using protozero::pbf_writer;

constexpr char kSlice = 'X';
constexpr char kInstant = 'i';
constexpr char kArrowBegin = 's';
constexpr char kArrowEnd = 'f';

const RawMember* find(const std::vector<RawMember>& members, std::string_view key) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const RawMember& m) { return m.key == key; });
  return found == members.end() ? nullptr : &*found;
}

}  // namespace

void TraceWriter::begin(const chrome::DocumentFacts& facts, const chrome::TimeBase& base, std::int64_t first_ns) {
  origin_ns_ = base.origin_ns();
  std::optional<std::int64_t> realtime;
  std::int64_t wall = 0;
  if (base.wall_ns() && !__builtin_sub_overflow(first_ns, origin_ns_, &wall) &&
      !__builtin_add_overflow(wall, *base.wall_ns(), &wall) && wall >= 0)
    realtime = wall;
  clock_ = Clock(first_ns, realtime);
  write_metadata_begin(packets_, facts, clock_);
}

void TraceWriter::end(const chrome::DocumentFacts& facts, const chrome::DocumentEnd& end,
                      const chrome::ExportNotes& export_notes) {
  flush();
  write_metadata_end(packets_, facts, end, export_notes, written_);
}

void TraceWriter::open(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns) {
  event_ = {};
  event_.arguments_at = arguments_.size();
  event_.uses_at = uses_.size();
  event_.begin_ns = clock_.at(begin_ns);
  event_.end_ns = std::max(event_.begin_ns, clock_.at(end_ns));
  // Render stages are on no track that an arrow could end at: kLinkedStages says the same in fields of both ends.
  if (gpu_ != PerfettoGpu::kSlices && is_launch_arrow(head)) return;
  event_.row = rows_.find(ids);
  if (event_.row == nullptr) {
    ++written_.without_row;
    return;
  }
  event_.head = heads_.of(head);
  event_.is_sample = event_.head.phase == kSample;
}

void TraceWriter::open_slice(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns) {
  open(head, ids, begin_ns, end_ns);
  event_.is_stage = gpu_ != PerfettoGpu::kSlices && event_.head.is_activity;
}

void TraceWriter::open_point(std::string_view head, std::string_view ids, std::int64_t time_ns) {
  open(head, ids, time_ns, time_ns);
}

void TraceWriter::close() {
  constexpr std::size_t kMostHeld = std::size_t{1} << 15;
  constexpr std::size_t kMostBytes = std::size_t{1} << 23;  // of arguments
  if (event_.row == nullptr) return;
  if (event_.is_sample) return write_counter();
  if (event_.head.phase == kSlice) ++written_.slices;
  if (event_.is_stage)
    event_.specification =
        &specifications_.of(heads_.names(), event_.head.name, event_.head.is_kernel, event_.device, event_.detail);
  event_.arguments_size = arguments_.size() - event_.arguments_at;
  event_.uses_size = uses_.size() - event_.uses_at;
  held_.push_back(event_);
  if (held_.size() >= kMostHeld || arguments_.size() >= kMostBytes) flush();
}

void TraceWriter::flush() {
  places_.clear();
  for (const Event& event : held_)
    places_.push_back(
        {event.row->uuid, event.begin_ns, event.end_ns, static_cast<std::uint32_t>(&event - held_.data())});
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    return std::tie(a.row, a.begin_ns, b.end_ns, a.held) < std::tie(b.row, b.begin_ns, a.end_ns, b.held);
  });
  for (const Place& place : places_) {
    event_ = held_[place.held];
    write_held();
  }
  held_.clear();
  arguments_.clear();
  uses_.clear();
}

void TraceWriter::write_held() {
  const bool is_slice = event_.head.phase == kSlice;
  if (is_slice && !event_.is_stage) event_.row = &rows_.place(*event_.row, event_.begin_ns, event_.end_ns);
  event_.sequence = &rows_.sequence(*event_.row, event_.begin_ns);
  introduce_uses();
  switch (event_.head.phase) {
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

void TraceWriter::add_names() {
  pbf_writer event(message_);
  // Ids count from 1; a pool's texts count from 0, the empty one.
  event.add_uint64(track_event::kNameIid, std::uint64_t{event_.head.name} + 1);
  if (event_.head.category != 0) event.add_uint64(track_event::kCategoryIids, event_.head.category);
}

void TraceWriter::introduce(Tag tag, std::uint64_t iid, std::string_view text) {
  scratch_.clear();
  pbf_writer(scratch_).add_uint64(interned::kIid, iid);
  add_text(scratch_, interned::kName, text);
  add_message(interned_, tag, scratch_);
}

void TraceWriter::begin_event(std::int32_t type) {
  rows_.describe(*event_.row);
  message_.clear();
  if (type != 0) pbf_writer(message_).add_enum(track_event::kType, type);
  const Head& head = event_.head;
  if (event_.sequence->names.add(head.name))
    introduce(interned::kEventNames, std::uint64_t{head.name} + 1, heads_.names().text(head.name));
  if (head.category != 0 && event_.sequence->categories.add(head.category))
    introduce(interned::kEventCategories, head.category, heads_.categories().text(head.category));
}

std::uint32_t TraceWriter::clock_for(std::int64_t time_ns) const noexcept {
  if (time_ns >= event_.sequence->last_ns) return clock_snapshot::kDistance;
  return time_ns >= clock_.begin_ns() ? clock_snapshot::kSinceBegin : clock_snapshot::kMonotonic;
}

void TraceWriter::begin_packet(std::int64_t time_ns, std::uint32_t clock) {
  Sequence& sequence = *event_.sequence;
  std::int64_t since_ns = 0;
  if (clock == clock_snapshot::kDistance) since_ns = std::exchange(sequence.last_ns, time_ns);
  if (clock == clock_snapshot::kSinceBegin) since_ns = clock_.begin_ns();
  packet_.clear();
  pbf_writer writer(packet_);
  writer.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(time_ns - since_ns));
  if (clock != clock_snapshot::kDistance) writer.add_uint32(packet::kTimestampClockId, clock);
  writer.add_uint32(packet::kSequenceId, sequence.id);
}

void TraceWriter::write_packet(Tag tag, std::int64_t time_ns, std::uint32_t clock) {
  begin_packet(time_ns, clock);
  // No flag says that the packet needs what the sequence introduced: it would be a twelfth of all bytes, and a sequence
  // of one file cannot lack its beginning.
  if (!interned_.empty()) add_message(packet_, packet::kInternedData, interned_);
  interned_.clear();
  add_message(packet_, tag, message_);
  packets_.write(packet_);
}

void TraceWriter::write_slice() {
  begin_event(track_event::kSliceBegin);
  add_names();
  message_ += arguments_of_event();
  if (gpu_ == PerfettoGpu::kLinkedStages && event_.head.is_call && event_.correlation != 0) {
    scratch_.clear();
    pbf_writer(scratch_).add_uint64(track_event::kSubmittedEventIds, launch_id());
    add_message(message_, track_event::kGpuCorrelation, scratch_);
  }
  // The number at the begin is not above the one at the end: then readers that take numbers for times find the begin
  // first, too. Where it would be, a packet of nothing but its time goes before.
  const std::uint32_t clock = clock_for(event_.begin_ns);
  const bool is_far = event_.begin_ns - event_.sequence->last_ns > event_.end_ns - event_.begin_ns;
  if (clock == clock_snapshot::kDistance && is_far) {
    begin_packet(event_.begin_ns, clock);
    packets_.write(packet_);
  }
  write_packet(packet::kTrackEvent, event_.begin_ns, clock);
  message_.clear();
  pbf_writer(message_).add_enum(track_event::kType, track_event::kSliceEnd);
  write_packet(packet::kTrackEvent, event_.end_ns, clock);
}

void TraceWriter::write_instant() {
  begin_event(track_event::kInstant);
  add_names();
  message_ += arguments_of_event();
  write_packet(packet::kTrackEvent, event_.begin_ns, clock_for(event_.begin_ns));
}

void TraceWriter::write_counter() {
  event_.row = &rows_.counter_of(*event_.row, event_.head.name, heads_.names().text(event_.head.name));
  event_.sequence = &rows_.sequence(*event_.row, event_.begin_ns);
  message_.clear();
  pbf_writer sample(message_);
  sample.add_enum(track_event::kType, track_event::kCounter);
  if (event_.is_integer)
    sample.add_int64(track_event::kCounterValue, event_.integer);
  else
    sample.add_double(track_event::kDoubleCounterValue, event_.number);
  write_packet(packet::kTrackEvent, event_.begin_ns, clock_for(event_.begin_ns));
}

/// An arrow binds to the slices that are open at its two times, as in JSON: slices are written before it is known.
void TraceWriter::write_arrow() {
  begin_event(0);
  add_names();
  scratch_.clear();
  pbf_writer legacy(scratch_);
  legacy.add_int32(track_event::kLegacyPhase, event_.head.phase);
  legacy.add_uint64(track_event::kLegacyUnscopedId, event_.head.flow_id);
  if (event_.head.phase == kArrowEnd) legacy.add_bool(track_event::kLegacyBindToEnclosing, true);
  add_message(message_, track_event::kLegacyEvent, scratch_);
  write_packet(packet::kTrackEvent, event_.begin_ns, clock_for(event_.begin_ns));
}

std::uint64_t TraceWriter::launch_id() {
  return rows_.process_number(*event_.row) << 32 | (event_.correlation & 0xFFFFFFFFu);
}

void TraceWriter::intern_stage(const Specification& specification) {
  const Row& row = *event_.row;
  Sequence& sequence = *event_.sequence;
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
  if (event_.context != 0 && sequence.contexts.add(static_cast<std::uint32_t>(event_.context))) {
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
  message_.clear();
  pbf_writer activity(message_);
  // Activities of one launch (the nodes of a graph) share the number that their call refers to.
  constexpr std::uint64_t kOwnIds = std::uint64_t{1} << 62;
  const bool is_launched = linked && event_.correlation != 0;
  activity.add_uint64(stage::kEventId, is_launched ? launch_id() : linked ? kOwnIds + stages_ : stages_);
  ++stages_;
  activity.add_uint64(stage::kDuration, static_cast<std::uint64_t>(event_.end_ns - event_.begin_ns));
  activity.add_uint64(stage::kHwQueueIid, queue_iid(event_.row->track));
  activity.add_uint64(stage::kStageIid, specification.iid());
  const std::int64_t gpu = rows_.group(*event_.row).pid;
  if (gpu != 0) activity.add_int32(stage::kGpuId, static_cast<std::int32_t>(gpu));
  if (event_.context != 0) activity.add_uint64(stage::kContext, event_.context);
  if (event_.correlation != 0)
    activity.add_uint32(stage::kSubmissionId, static_cast<std::uint32_t>(event_.correlation));
  if (linked && !specification.kernel.empty())
    activity.add_uint64(stage::kKernelIid, specification.iid());
  else if (!specification.launch.empty())
    add_message(message_, stage::kLaunch, specification.launch);
  message_ += arguments_of_event();
  write_packet(packet::kRenderStage, event_.begin_ns, clock_for(event_.begin_ns));
}

void TraceWriter::event(std::string_view json) {
  std::vector<RawMember> members;
  if (!chrome::split_object(json, members)) return;
  const RawMember* const phase = find(members, "ph");
  const RawMember* const time = find(members, "ts");
  const RawMember* const process = find(members, "pid");
  const RawMember* const thread = find(members, "tid");
  if (phase == nullptr || time == nullptr || process == nullptr || thread == nullptr) {
    ++written_.without_row;
    return;
  }
  std::string head = "{\"ph\":" + std::string(phase->value);
  for (const std::string_view key : {"id", "cat", "name"}) {
    if (const RawMember* const member = find(members, key); member != nullptr)
      head.append(",\"").append(key).append("\":").append(member->value);
  }
  std::string ids = ",\"pid\":" + std::string(process->value) + ",\"tid\":" + std::string(thread->value) + ",\"ts\":";
  const base::ScaledDecimal micros = base::scaled_decimal(time->value, 3);
  std::int64_t time_ns = 0;
  if (!micros.valid || __builtin_add_overflow(micros.value, origin_ns_, &time_ns)) return;
  open_point(head, ids, time_ns);
  if (const RawMember* const own = find(members, "args"); own != nullptr && own->value.starts_with('{'))
    arguments(own->value.substr(1, own->value.size() - 2));
  close();
}

}  // namespace rangefinder::perfetto
