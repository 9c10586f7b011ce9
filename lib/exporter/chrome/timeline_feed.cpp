// SPDX-License-Identifier: MIT
#include "exporter/chrome/timeline_feed.hpp"

#include "base/file.hpp"
#include "exporter/chrome/attachments.hpp"
#include "exporter/chrome/capture_facts.hpp"
#include "exporter/chrome/clean_json.hpp"
#include "exporter/chrome/document.hpp"
#include "exporter/chrome/foreign_events.hpp"
#include "exporter/chrome/markers.hpp"
#include "exporter/chrome/memory_events.hpp"
#include "exporter/chrome/sample_events.hpp"
#include "exporter/chrome/sensor_events.hpp"
#include "exporter/chrome/timeline_flows.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

TimeBase base_of(const Timeline& timeline) {
  if (timeline.realtime_offset_ns == kNoTime) return TimeBase::without_wall_clock(timeline.begin_ns, timeline.end_ns);
  // A trace of torch.profiler has an origin already: 0 of its own clock.
  const bool given = timeline.format == InputFormat::kKineto;
  return TimeBase::with_wall_clock(timeline.begin_ns, timeline.end_ns, timeline.realtime_offset_ns,
                                   given ? std::optional<std::int64_t>(0) : std::nullopt);
}

DocumentFacts facts_of(const Timeline& timeline) {
  DocumentFacts facts;
  facts.devices = timeline.devices;
  // The facts of a capture have names that mean something to us only.
  if (timeline.format == InputFormat::kKineto) {
    facts.members = timeline.metadata;
  } else {
    add_capture_facts(facts, timeline.metadata);
  }
  if (timeline.processes.size() == 1) {
    facts.rank = timeline.processes.front().rank;
    facts.world_size = timeline.processes.front().world_size;
  }
  for (const std::string& source : timeline.sources) {
    if (!facts.trace_name.empty()) facts.trace_name += ", ";
    facts.trace_name += base::file_name(source);
  }
  facts.simulated = timeline.simulated;
  return facts;
}

void write_points(TimelineExport& shared) {
  const Timeline& timeline = shared.timeline;
  const MarkTable& marks = timeline.marks;
  std::string head;
  for (std::uint32_t i = 0; i < marks.size(); ++i) {
    if (!shared.in_window(marks.time_ns[i], marks.time_ns[i])) continue;
    head.clear();
    append_head(head, 'i', timeline.text(marks.category[i]), timeline.text(marks.name[i]));
    head += ",\"s\":\"t\"";
    shared.writer.open_point(head, shared.layout.table().ids(shared.threads[marks.thread[i]]), marks.time_ns[i]);
    std::string kept;
    const std::string_view raw =
        marks.source_row[i] < 0 ? std::string_view{} : timeline.arguments.find(marks.source_row[i]);
    if (!raw.empty() && append_clean_members(kept, raw))
      shared.writer.raw_arguments(kept);
    else
      write_attachments(shared.writer, timeline, Attachment::Target::kMark, i);
    shared.writer.close();
  }
  const CounterTable& counters = timeline.counters;
  for (std::uint32_t i = 0; shared.options.counters && i < counters.size(); ++i) {
    if (!shared.in_window(counters.time_ns[i], counters.time_ns[i])) continue;
    const CounterSample sample{timeline.text(counters.name[i]), counters.is_integer[i], counters.integer[i],
                               counters.number[i]};
    if (!write_counter(shared.writer, shared.layout.table().ids(shared.threads[counters.thread[i]]),
                       counters.time_ns[i], sample))
      shared.notes.add(ExportNotes::kNotFinite);
  }
}

void write_sensor_samples(TimelineExport& shared) {
  const Timeline& timeline = shared.timeline;
  const SensorSampleTable& samples = timeline.sensor_samples;
  for (std::size_t i = 0; shared.options.counters && i < samples.size(); ++i) {
    const std::int64_t time = samples.time_ns[i];
    if (!shared.in_window(time, time)) continue;
    format::DeviceSampleRow row{};
    row.device = timeline.devices[samples.device[i]].id;
    row.present = samples.present[i];
    row.gpu_utilisation_percent = samples.gpu_utilisation_percent[i];
    row.memory_utilisation_percent = samples.memory_utilisation_percent[i];
    row.sm_clock_mhz = samples.sm_clock_mhz[i];
    row.memory_clock_mhz = samples.memory_clock_mhz[i];
    row.power_mw = samples.power_mw[i];
    row.temperature_c = samples.temperature_c[i];
    row.memory_used_bytes = samples.memory_used_bytes[i];
    const TrackId track = shared.layout.sensors(shared.devices[samples.device[i]]);
    write_sensors(shared.writer, shared.layout.table().ids(track), time, row);
  }
}

/// What an imported trace has of them is written back as it was.
void write_memory_events(TimelineExport& shared) {
  const Timeline& timeline = shared.timeline;
  const AllocatorEventTable& memory = timeline.allocator_events;
  if (timeline.format == InputFormat::kKineto) return;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!shared.in_window(memory.time_ns[i], memory.time_ns[i])) continue;
    write_memory(shared.writer, shared.layout.table().ids(shared.threads[memory.thread[i]]), memory.time_ns[i],
                 {memory.action[i], memory.device[i], memory.address[i], memory.bytes[i], memory.allocated[i],
                  memory.reserved[i]},
                 shared.options.counters);
  }
}

void write_samples(TimelineExport& shared) {
  const PmSampleTable& samples = shared.timeline.pm_samples;
  SampleEvents events(shared.writer, shared.layout.table(), shared.options);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    events.write(shared.layout.counters(shared.devices[samples.device[i]]), shared.timeline.text(samples.metric[i]),
                 samples.begin_ns[i], samples.end_ns[i], samples.value[i]);
  }
  events.finish();
}

void write_allocations(TimelineExport& shared) {
  const Timeline& timeline = shared.timeline;
  const CudaAllocationTable& table = timeline.cuda_allocations;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (!shared.in_window(table.time_ns[i], table.time_ns[i])) continue;
    AllocationPoint point;
    point.freed = table.freed[i] != 0;
    point.memory = table.memory[i];
    point.address = table.address[i];
    point.bytes = table.bytes[i];
    point.pool = table.pool[i];
    point.correlation = table.correlation[i];
    const bool on_device = table.device[i] != kNone;
    if (on_device) point.device = static_cast<std::int64_t>(timeline.devices[table.device[i]].id);
    if (table.stream[i] != kNone) point.stream = timeline.streams[table.stream[i]].id;
    const GroupId group = on_device ? shared.devices[table.device[i]] : shared.processes[table.process[i]];
    const TrackId track = shared.layout.allocations(group);
    write_allocation(shared.writer, shared.layout.table().ids(track), table.time_ns[i], point);
  }
}

void write_frame(TimelineExport& shared, bool simulated) {
  const Timeline& timeline = shared.timeline;
  // Windows of several processes overlap, and nothing says whose each is.
  if (timeline.processes.size() == 1)
    write_windows(shared.writer, shared.layout, shared.processes.front(), timeline.windows);
  if (shared.threads.empty()) return;
  const GroupId process = shared.processes[timeline.threads.front().process];
  const TrackId track = shared.layout.main_thread(process, shared.threads.front());
  write_health_mark(shared.writer, shared.layout.table().ids(track), timeline.end_ns, timeline.health, simulated);
}

}  // namespace

std::uint64_t write_timeline(const Timeline& timeline, const ChromeExportOptions& options, TextOutput& out,
                             ExportNotes& notes, const Progress& progress, EventTarget* target) {
  const TimeBase base = base_of(timeline);
  const DocumentFacts facts = facts_of(timeline);
  if (target != nullptr)
    target->begin(facts, base, timeline.begin_ns);
  else
    write_document_begin(out, facts, base, notes);
  EventWriter writer(out, base, target);
  TrackTable table;
  if (target != nullptr) target->use_rows(table);
  TimelineExport shared(timeline, options, writer, table, notes);
  ForeignEvents foreign(shared);
  TimelineSlices slices(shared);
  slices.write(foreign.slices(), progress);
  if (options.flows) write_flows(shared, slices);
  write_points(shared);
  write_memory_events(shared);
  write_sensor_samples(shared);
  write_samples(shared);
  write_allocations(shared);
  foreign.write();
  write_frame(shared, facts.simulated);
  shared.layout.describe(writer, timeline.begin_ns);

  DocumentEnd end;
  end.health = timeline.health;
  end.notes = timeline.notes;
  end.clock_error_ns = timeline.clock_error_ns;
  if (timeline.activities.size() != 0) end.account = &shared.projection.account;
  if (target != nullptr)
    target->end(facts, end, notes);
  else
    write_document_end(out, facts, end, notes);
  return writer.events();
}

}  // namespace rangefinder::chrome
