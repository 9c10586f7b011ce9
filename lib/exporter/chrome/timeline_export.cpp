// SPDX-License-Identifier: MIT
#include "exporter/chrome/timeline_export.hpp"

#include "exporter/chrome/clean_json.hpp"

#include <set>
#include <vector>

namespace rangefinder::chrome {

namespace {

/// The processes of a torch.profiler trace are one, and what its profiler could not name.
HeadingFacts headings_of(const Timeline& timeline) {
  std::set<std::string_view> hosts;
  for (const ProcessInfo& process : timeline.processes)
    if (!process.host.empty()) hosts.insert(process.host);
  return {timeline.simulated, timeline.format != InputFormat::kKineto && timeline.processes.size() > 1,
          hosts.size() > 1};
}

}  // namespace

TimelineExport::TimelineExport(const Timeline& timeline_in, const ChromeExportOptions& options_in,
                               EventWriter& writer_in, TrackTable& table, ExportNotes& notes_in)
    : timeline(timeline_in),
      options(options_in),
      writer(writer_in),
      notes(notes_in),
      layout(table, headings_of(timeline_in)) {
  if (timeline.activities.size() != 0) projection = project(timeline, {options.attribution, true, false});
  passes = analysis::pass_times_of_streams(timeline, projection);
  // Slices have the figures by stream.
  projection.exclusive = {};
  projection.inclusive = {};
  projection.exclusive_offset = std::vector<std::uint32_t>();
  projection.inclusive_offset = std::vector<std::uint32_t>();
  make_rows();
  link();
}

ProcessLabel TimelineExport::label(ProcessIndex process) const noexcept {
  const ProcessInfo& info = timeline.processes[process];
  return {info.pid, info.name, info.host, info.rank};
}

void TimelineExport::make_rows() {
  // A trace of torch.profiler has a row for each stream, whatever the context; and its threads of process 0 are those
  // that the profiler knows no process of: the number is the device's.
  const bool is_kineto = timeline.format == InputFormat::kKineto;
  const auto add_devices = [&] {
    for (const DeviceInfo& device : timeline.devices)
      devices.push_back(layout.device(device.id, device.name, label(device.process)));
  };
  if (is_kineto) add_devices();
  for (ProcessIndex i{0}; i < timeline.processes.size(); ++i) processes.push_back(layout.process(label(i)));
  if (!is_kineto) add_devices();
  for (const StreamInfo& stream : timeline.streams)
    streams.push_back(
        layout.stream(devices[stream.device], stream.context, stream.id, stream.green_context, is_kineto));
  for (const ThreadInfo& thread : timeline.threads)
    threads.push_back(layout.thread(processes[thread.process], thread.tid, thread.name));
}

RangeIndex TimelineExport::launching_range(ActivityIndex activity) const noexcept {
  const LaunchIndex launch = timeline.activities.launch[activity];
  if (launch == kNone) return kNone;
  if (timeline.launches.range[launch] != kNone) return timeline.launches.range[launch];
  if (projection.place_of(timeline, activity) != launch) return kNone;
  const RangeIndex owner(projection.owner[activity]);
  return owner < static_cast<std::uint32_t>(Unowned::kOutside) ? owner : kNone;
}

std::string_view TimelineExport::ranges_not_written(ActivityIndex activity) {
  const LaunchIndex captured = timeline.activities.captured[activity];
  const RangeIndex range = projection.place_of(timeline, activity) == captured ? RangeIndex(projection.owner[activity])
                                                                               : timeline.launches.range[captured];
  const RangeTable& ranges = timeline.ranges;
  if (range >= ranges.size() || (ranges.flags[range] & kBeforeRecording) == 0) return {};
  const auto [found, added] = not_written_.try_emplace(range);
  if (added) {
    std::vector<RangeIndex> path;
    for (RangeIndex up = range; up != kNone; up = projection.parent[up]) path.push_back(up);
    for (std::size_t i = path.size(); i-- > 0;) {
      found->second += found->second.empty() ? '[' : ',';
      append_quoted(found->second, timeline.text(ranges.name[path[i]]));
    }
    found->second += ']';
  }
  return found->second;
}

void TimelineExport::link() {
  if (timeline.format == InputFormat::kKineto) return;
  is_linked_.resize(timeline.ranges.size());
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range)
    is_linked_[range] = timeline.ranges.kind[range] == RangeKind::kOperator;
  for (const StreamFigures& figures : projection.inclusive_streams) is_linked_[figures.range] = true;
  for (ActivityIndex i{0}; i < timeline.activities.size(); ++i) {
    if (const RangeIndex range = launching_range(i); range != kNone) is_linked_[range] = true;
  }
}

}  // namespace rangefinder::chrome
