// SPDX-License-Identifier: MIT
#include "exporter/perfetto/rows.hpp"

#include <algorithm>

namespace rangefinder::perfetto {
namespace {

using protozero::pbf_writer;

std::int32_t rank_of(std::int64_t sort_index) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(sort_index, -kMost, kMost));
}

std::string clock_of(std::uint32_t id, std::int64_t time_ns, bool is_incremental) {
  std::string out;
  pbf_writer clock(out);
  clock.add_uint32(clock_snapshot::kClockId, id);
  clock.add_uint64(clock_snapshot::kClockTimestamp, static_cast<std::uint64_t>(time_ns));
  if (is_incremental) clock.add_bool(clock_snapshot::kIsIncremental, true);
  return out;
}

/// A process or thread that viewers can show as such: 0 is the system's idle task for them.
bool is_process(const chrome::TrackGroup& group) noexcept { return group.owner.is_process && group.pid > 0; }
bool is_thread(const chrome::TrackGroup& group, const chrome::Track& row) noexcept {
  return row.is_thread && is_process(group) && row.tid > 0;
}

}  // namespace

Row* Rows::find(std::string_view ids) {
  Row*& recent = recent_[(reinterpret_cast<std::uintptr_t>(ids.data()) >> 4) % recent_.size()];
  if (recent != nullptr && table_->ids(recent->track) == ids) return recent;
  const auto found = by_ids_.find(ids);
  Row* const row = found != by_ids_.end() ? found->second : make(ids);
  if (row != nullptr) recent = row;
  return row;
}

Row* Rows::make(std::string_view ids) {
  const std::vector<chrome::Track>& tracks = table_->tracks();
  const auto named = std::find_if(tracks.rbegin(), tracks.rend(), [&](const auto& track) { return track.ids == ids; });
  if (named == tracks.rend()) return nullptr;
  Row& row = add(static_cast<chrome::TrackId>(tracks.rend() - named - 1), 0);
  by_ids_.emplace(std::string(ids), &row);
  return &row;
}

Row& Rows::add(chrome::TrackId track_id, std::uint32_t extra) {
  Row& row = rows_.emplace_back();
  row.track = track_id;
  row.extra = extra;
  row.uuid = next_uuid_++;
  add_sequence(row);
  return row;
}

Row& Rows::place(Row& row, std::int64_t begin_ns, std::int64_t end_ns) {
  constexpr std::uint32_t kMostExtra = 64;  // times that are all alike need no more rows to be useless
  Row* at = &row;
  const auto takes = [&] {
    const bool is_free = at->extra == 0 || begin_ns >= at->busy_to_ns || end_ns <= at->busy_from_ns;
    return is_free && at->begins.take(begin_ns, end_ns);
  };
  while (!takes() && at->extra < kMostExtra) {
    if (at->next_extra == nullptr) at->next_extra = &add(at->track, at->extra + 1);
    at = at->next_extra;
  }
  const bool is_first = at->busy_from_ns == at->busy_to_ns;
  at->busy_from_ns = is_first ? begin_ns : std::min(at->busy_from_ns, begin_ns);
  at->busy_to_ns = is_first ? end_ns : std::max(at->busy_to_ns, end_ns);
  return *at;
}

Sequence& Rows::sequence(Row& row, std::int64_t time_ns) {
  Sequence* best = nullptr;
  for (const auto& each : row.sequences) {
    const bool fits = each->last_ns <= time_ns;
    if (fits && (best == nullptr || each->last_ns > best->last_ns)) best = each.get();
  }
  if (best != nullptr) return *best;
  // To introduce a sequence and its names takes as many bytes as it saves in a dozen slices.
  constexpr std::uint32_t kWorthwhile = 16;
  constexpr std::size_t kMost = 16;
  const bool adds = ++row.without_sequence % kWorthwhile == 0 && row.sequences.size() < kMost;
  return adds ? add_sequence(row) : *row.sequences.front();
}

Sequence& Rows::add_sequence(Row& row) {
  Sequence& sequence = *row.sequences.emplace_back(std::make_unique<Sequence>());
  sequence.id = next_sequence_++;
  sequence.last_ns = clock_.begin_ns();
  std::string event_defaults, sequence_defaults, snapshot, out;
  pbf_writer(event_defaults).add_uint64(defaults::kTrackUuid, row.uuid);
  pbf_writer(sequence_defaults).add_uint32(defaults::kTimestampClockId, clock_snapshot::kDistance);
  add_message(sequence_defaults, defaults::kTrackEventDefaults, event_defaults);
  // All of them tell the same moment: readers refuse snapshots in which the trace's own clock goes back.
  const std::int64_t begin_ns = clock_.begin_ns();
  add_message(snapshot, clock_snapshot::kClocks, clock_of(clock_snapshot::kDistance, begin_ns, true));
  add_message(snapshot, clock_snapshot::kClocks, clock_of(clock_snapshot::kSinceBegin, 0, false));
  add_message(snapshot, clock_snapshot::kClocks, clock_of(clock_snapshot::kMonotonic, begin_ns, false));
  pbf_writer writer(out);
  writer.add_uint32(packet::kSequenceId, sequence.id);
  writer.add_uint32(packet::kSequenceFlags, packet::kIncrementalStateCleared);
  add_message(out, packet::kDefaults, sequence_defaults);
  add_message(out, packet::kClockSnapshot, snapshot);
  packets_.write(out);
  return sequence;
}

void Rows::write_descriptor(const Row& row, const std::string& descriptor) {
  std::string out;
  pbf_writer(out).add_uint32(packet::kSequenceId, row.sequences.front()->id);
  add_message(out, packet::kTrackDescriptor, descriptor);
  packets_.write(out);
}

std::uint64_t Rows::group_uuid(const Row& row) {
  const auto [found, added] = group_uuids_.try_emplace(track(row).group, next_uuid_);
  if (!added) return found->second;
  ++next_uuid_;
  const chrome::TrackGroup& heading = group(row);
  std::string out;
  pbf_writer writer(out);
  writer.add_uint64(track::kUuid, found->second);
  writer.add_int32(track::kSiblingOrderRank, rank_of(heading.sort_index));
  writer.add_enum(track::kChildOrdering, track::kExplicitOrder);
  if (!heading.labels.empty()) add_text(out, track::kDescription, heading.labels);
  if (is_process(heading)) {
    std::string process;
    pbf_writer(process).add_int32(track::kProcessPid, static_cast<std::int32_t>(heading.pid));
    if (!heading.name.empty()) add_text(process, track::kProcessName, heading.name);
    add_message(out, track::kProcess, process);
  } else {
    add_text(out, track::kName, heading.name.empty() ? "process " + std::to_string(heading.pid) : heading.name);
    writer.add_enum(track::kSiblingMergeBehavior, track::kNoMerge);
  }
  write_descriptor(row, out);
  return found->second;
}

void Rows::describe(Row& row) {
  if (row.is_described) return;
  row.is_described = true;
  const std::uint64_t parent = group_uuid(row);
  const chrome::Track& here = track(row);
  std::string out;
  pbf_writer writer(out);
  writer.add_uint64(track::kUuid, row.uuid);
  writer.add_uint64(track::kParentUuid, parent);
  writer.add_int32(track::kSiblingOrderRank, rank_of(here.sort_index));
  if (row.extra == 0 && is_thread(group(row), here)) {
    std::string thread;
    pbf_writer facts(thread);
    facts.add_int32(track::kThreadPid, static_cast<std::int32_t>(group(row).pid));
    facts.add_int32(track::kThreadTid, static_cast<std::int32_t>(here.tid));
    if (!here.name.empty()) add_text(thread, track::kThreadName, here.name);
    add_message(out, track::kThread, thread);
  } else {
    const std::string behind = row.extra == 0 ? "" : ", at the same time " + std::to_string(row.extra);
    add_text(out, track::kName, here.label() + behind);
    writer.add_enum(track::kSiblingMergeBehavior, track::kNoMerge);
  }
  write_descriptor(row, out);
}

Row& Rows::counter_of(Row& row, std::uint32_t name, std::string_view text) {
  const auto [found, added] = row.counters.try_emplace(name, nullptr);
  if (!added) return *found->second;
  describe(row);
  Row& counter = add(row.track, 0);
  found->second = &counter;
  counter.is_described = true;
  std::string out;
  pbf_writer writer(out);
  writer.add_uint64(track::kUuid, counter.uuid);
  writer.add_uint64(track::kParentUuid, row.uuid);
  add_text(out, track::kName, text);
  add_message(out, track::kCounter, {});
  write_descriptor(counter, out);
  return counter;
}

std::uint64_t Rows::process_number(const Row& row) {
  return process_numbers_.try_emplace(group(row).owner.pid, process_numbers_.size()).first->second;
}

}  // namespace rangefinder::perfetto
