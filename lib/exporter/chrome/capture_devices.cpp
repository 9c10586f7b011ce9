// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_devices.hpp"

#include "exporter/chrome/capture_host.hpp"
#include "exporter/chrome/memory_events.hpp"
#include "exporter/chrome/sensor_events.hpp"
#include "importer/capture/capture_rows.hpp"
#include "timeline/activity_names.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

// Some calls cause several activities (batches of copies, launches on several devices), and nothing says how many. They
// follow each other at once: after this long a call is taken to have caused what has come.
constexpr std::int64_t kLingerNs = 250'000'000;

}  // namespace

std::vector<DeviceInfo> devices_of(const capture::CaptureReader& reader) {
  std::vector<DeviceInfo> out;
  for (const format::DeviceRow& row : reader.devices()) {
    // Written again by every session of a process: the last one counts.
    auto found = std::find_if(out.begin(), out.end(), [&](const DeviceInfo& device) { return device.id == row.id; });
    DeviceInfo& device = found == out.end() ? out.emplace_back() : *found;
    importer::describe_device(row, reader.name(row.name), device);
  }
  return out;
}

CaptureDevices::CaptureDevices(CaptureExport& shared, LaunchTable& launches) : shared_(shared), launches_(launches) {
  for (DeviceInfo& device : devices_of(shared.reader)) {
    device_index_[device.id] = static_cast<std::uint32_t>(devices_.size());
    groups_.push_back(shared.layout.device(device.id, device.name, shared.process_label));
    devices_.push_back(std::move(device));
  }
  for (const format::ContextRow& row : shared.reader.contexts()) device_of_context_[row.id] = row.device;
}

std::uint32_t CaptureDevices::device_of(std::uint32_t id) {
  const auto [found, added] = device_index_.try_emplace(id, static_cast<std::uint32_t>(devices_.size()));
  if (added) {
    devices_.emplace_back().id = id;
    groups_.push_back(shared_.layout.device(id, {}, shared_.process_label));
  }
  return found->second;
}

std::uint32_t CaptureDevices::stream_of(std::uint32_t device, std::uint32_t context, std::uint32_t id) {
  const auto [found, added] =
      stream_index_.try_emplace({device, context, id}, static_cast<std::uint32_t>(streams_.size()));
  if (added) {
    Stream& stream = streams_.emplace_back();
    stream.device = device_of(device);
    stream.track = shared_.layout.stream(groups_[stream.device], context, id, 0);
  }
  return found->second;
}

std::string_view CaptureDevices::made_head(Category category, const std::string& name) {
  const auto [found, added] = made_heads_.try_emplace(name);
  if (added) append_head(found->second, 'X', to_string(category), name);
  return found->second;
}

template <typename Row>
CaptureDevices::Activity CaptureDevices::common(const Row& row, ActivityKind kind, std::int64_t begin_ns,
                                                std::int64_t end_ns) {
  Activity activity;
  activity.kind = kind;
  activity.begin_ns = begin_ns;
  activity.end_ns = end_ns;
  activity.place = {&devices_[device_of(row.device)], row.context, row.stream, row.correlation, -1, 0, row.graph_id};
  if constexpr (requires { row.graph_node; }) {
    activity.place.graph_node = row.graph_node;
    // What the node was when its graph was launched: an update may have come while it ran.
    const NotedLaunch* const launch = row.graph_node != 0 ? launches_.find(row.correlation) : nullptr;
    const std::int64_t time = launch != nullptr ? launch->time_ns : begin_ns;
    if (const CaptureSites::Site* const site = shared_.sites.find(row.graph_node, time); site != nullptr) {
      activity.place.captured_tid = site->tid;
      activity.place.captured_ns = site->time_ns;
      activity.place.captured_in = site->ranges;
    }
  }
  return activity;
}

void CaptureDevices::add_kernel(const format::KernelRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
  Activity activity = common(row, ActivityKind::kKernel, begin_ns, end_ns);
  activity.head = shared_.head(Category::kKernel, row.name);
  activity.kernel = importer::kernel_detail(row);
  add(stream_of(row.device, row.context, row.stream), row.correlation, activity);
}

void CaptureDevices::add_memcpy(const format::MemcpyRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
  Activity activity = common(row, ActivityKind::kMemcpy, begin_ns, end_ns);
  activity.bytes = row.bytes;
  activity.copy = importer::copy_detail(row);
  activity.head = made_head(Category::kMemcpy, timeline::memcpy_name(activity.copy));
  add(stream_of(row.device, row.context, row.stream), row.correlation, activity);
}

void CaptureDevices::add_memset(const format::MemsetRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
  Activity activity = common(row, ActivityKind::kMemset, begin_ns, end_ns);
  activity.bytes = row.bytes;
  activity.copy = importer::copy_detail(row);
  activity.head = made_head(Category::kMemset, timeline::memset_name(activity.copy));
  add(stream_of(row.device, row.context, row.stream), row.correlation, activity);
}

void CaptureDevices::add_sample(const format::DeviceSampleRow& row, std::int64_t time_ns) {
  shared_.extend(time_ns, time_ns);
  if (!shared_.options.counters || !shared_.in_window(time_ns, time_ns)) return;
  const GroupId group = groups_[device_of(row.device)];
  write_sensors(shared_.writer, shared_.ids(shared_.layout.sensors(group)), time_ns, row);
}

void CaptureDevices::add_graph_launch(const format::GraphLaunchRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
  Activity activity = common(row, ActivityKind::kGraph, begin_ns, end_ns);
  activity.head = made_head(Category::kKernel, timeline::graph_name(row.graph_id));
  activity.place.graph_launch = ActivityPlace::Launch::kWhole;
  add(stream_of(row.device, row.context, row.stream), row.correlation, activity);
}

void CaptureDevices::add(std::uint32_t index, std::uint32_t correlation, Activity activity) {
  Stream& stream = streams_[index];
  shared_.extend(activity.begin_ns, activity.end_ns);
  const std::int64_t activity_end = activity.end_ns;
  const NotedLaunch* const launch = launches_.find(correlation);
  if (launch != nullptr && launch->range != 0) activity.place.external_id = static_cast<std::int64_t>(launch->range);
  const std::uint32_t level = stream.row.add_activity(activity.begin_ns, activity.end_ns);
  if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
  activity.track = shared_.table.overflow(stream.track, level);
  const bool wanted = shared_.in_window(activity.begin_ns, activity.end_ns);
  const SlicePlace place{wanted ? activity.track : kNoTrack, activity.begin_ns, activity.end_ns};
  const projection::StreamingActivity told{
      correlation, {stream.device, index}, activity.begin_ns, activity.end_ns, activity.bytes};
  begin_ranges(index, launch == nullptr ? 0 : launch->spanning, level, wanted ? &activity : nullptr);
  launches_.arrow_to(correlation, place);
  projector_->activity(told);
  // The nodes of a graph come over any length of time.
  if (launch != nullptr && !launch->is_graph) lingering_.push_back({activity_end, correlation});
}

void CaptureDevices::begin_ranges(std::uint32_t index, std::uint64_t innermost, std::uint32_t level,
                                  const Activity* activity) {
  const bool inclusive = shared_.options.inclusive_ranges;
  const auto parent_of = [&](std::uint64_t key) { return inclusive ? projector_->parent_of(key) : 0; };
  const bool any = innermost != 0 && (inclusive || shared_.options.exclusive_ranges);
  const std::vector<std::uint64_t>* const begun =
      any ? &streams_[index].row.begin_ranges(innermost, parent_of) : nullptr;
  const bool waits = begun != nullptr && !begun->empty();
  if (activity != nullptr && (!waits || level != 0)) write(*activity);
  if (!waits) return;
  const std::uint64_t number = next_held_++;
  Held& held = held_[number];
  if (activity != nullptr && level == 0) held.activity = *activity;
  held.missing = begun->size();
  for (const std::uint64_t key : *begun) begun_[key].push_back({index, number});
}

void CaptureDevices::on_time(std::int64_t device_ns) {
  for (; !lingering_.empty() && lingering_.front().end_ns < device_ns - kLingerNs; lingering_.pop_front())
    projector_->complete(lingering_.front().correlation);
}

void CaptureDevices::write(const Activity& activity) {
  EventWriter& writer = shared_.writer;
  writer.open_slice(activity.head, shared_.ids(activity.track), activity.begin_ns, activity.end_ns);
  if (!is_copy(activity.kind))
    write_kernel_arguments(writer, activity.place, activity.kind == ActivityKind::kKernel ? &activity.kernel : nullptr);
  else
    write_copy_arguments(writer, activity.place, &activity.copy, activity.bytes, activity.end_ns - activity.begin_ns);
  writer.close();
}

void CaptureDevices::add_sync(const format::SyncRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
  shared_.extend(begin_ns, end_ns);
  if (!shared_.options.syncs || !shared_.in_window(begin_ns, end_ns)) return;
  SyncFacts facts;
  facts.type = row.type;
  facts.context = row.context;
  facts.correlation = row.correlation;
  if (row.event_context != 0) facts.event_stream = row.event_stream;
  TrackId track = kNoTrack;
  std::uint32_t level = 0;
  const auto device = device_of_context_.find(row.context);
  if (device != device_of_context_.end()) facts.device = &devices_[device_of(device->second)];
  if (row.stream != importer::kNoStream && facts.device != nullptr) {
    Stream& stream = streams_[stream_of(device->second, row.context, row.stream)];
    facts.stream = row.stream;
    track = shared_.layout.beside(stream.track, Beside::kWaits);
    level = stream.waits.add(begin_ns, end_ns);
  } else {
    const GroupId group = facts.device == nullptr ? shared_.process : groups_[device_of(device->second)];
    track = shared_.layout.waits(group);
    level = group_waits_[group].add(begin_ns, end_ns);
  }
  if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
  const std::string name(sync_name(row.type));
  shared_.writer.open_slice(made_head(Category::kSync, name), shared_.ids(shared_.table.overflow(track, level)),
                            begin_ns, end_ns);
  write_sync_arguments(shared_.writer, facts);
  shared_.writer.close();
}

void CaptureDevices::add_allocation(const format::AllocationRow& row, std::int64_t time_ns) {
  shared_.extend(time_ns, time_ns);
  if (!shared_.in_window(time_ns, time_ns)) return;
  AllocationPoint point;
  point.freed = row.operation == 2;
  point.memory = row.memory;
  point.address = row.address;
  point.bytes = row.bytes;
  point.pool = row.pool;
  point.correlation = row.correlation;
  GroupId group = shared_.process;
  if (const auto device = device_of_context_.find(row.context); device != device_of_context_.end()) {
    point.device = static_cast<std::int64_t>(row.device);
    group = groups_[device_of(row.device)];
  }
  if (row.stream != importer::kNoStream) point.stream = row.stream;
  write_allocation(shared_.writer, shared_.ids(shared_.layout.allocations(group)), time_ns, point);
}

void CaptureDevices::on_projected(const projection::ProjectedRange& range) {
  const bool inclusive = shared_.options.inclusive_ranges;
  if (!inclusive && !shared_.options.exclusive_ranges) return;
  const projection::StreamingFigures& figures = inclusive ? range.inclusive : range.exclusive;
  const RangeTag tag = RangeTag::of(range.range.tag);
  const bool too_deep = inclusive && tag.depth >= kMaxSpanDepth;
  const bool need_not_nest = range.range.start_end || range.range.ended_elsewhere;
  const auto node = begun_.extract(range.range.key);
  const std::vector<Begun> begun = node.empty() ? std::vector<Begun>{} : std::move(node.mapped());
  for (const projection::StreamingStream& on_stream : figures.streams) {
    const Span span{range.range.key, tag.name, on_stream};
    const auto here = std::find_if(begun.begin(), begun.end(),
                                   [&](const Begun& place) { return place.stream == on_stream.place.stream; });
    if (too_deep)
      shared_.notes.add(ExportNotes::kDeepRange);
    else if (need_not_nest)
      place_beside(span);
    else if (here != begun.end())
      held_.at(here->held).spans.push_back(span);
    else
      place_on_row(span);  // its activities came when it had been given up
  }
  for (const Begun& place : begun) {
    if (too_deep || need_not_nest) streams_[place.stream].row.forget_range(range.range.key);
    const auto held = held_.find(place.held);
    if (--held->second.missing != 0) continue;
    write(held->second);
    held_.erase(held);
  }
}

void CaptureDevices::place_on_row(const Span& span) {
  Stream& stream = streams_[span.figures.place.stream];
  const std::uint32_t level = stream.row.end_range(span.range, span.figures.first_ns, span.figures.last_ns);
  if (level == 0) return write(span, stream.track);
  shared_.notes.add(ExportNotes::kOverlapping);
  write(span, shared_.table.overflow(shared_.layout.beside(stream.track, Beside::kRanges), level - 1));
}

void CaptureDevices::place_beside(const Span& span) {
  Stream& stream = streams_[span.figures.place.stream];
  const std::uint32_t level = stream.start_end.add(span.figures.first_ns, span.figures.last_ns);
  if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
  write(span, shared_.table.overflow(shared_.layout.beside(stream.track, Beside::kStartEnd), level));
}

void CaptureDevices::write(Held& held) {
  for (std::size_t i = held.spans.size(); i-- > 0;) place_on_row(held.spans[i]);
  if (held.activity) write(*held.activity);
}

void CaptureDevices::write(const Span& span, TrackId track) {
  const projection::StreamingStream& figures = span.figures;
  if (!shared_.in_window(figures.first_ns, figures.last_ns)) return;
  shared_.writer.open_slice(shared_.head(Category::kGpuAnnotation, span.name), shared_.ids(track), figures.first_ns,
                            figures.last_ns);
  write_range_figures(shared_.writer, {static_cast<std::int64_t>(span.range), figures.gpu_ops, figures.gpu_sum_ns,
                                       figures.gpu_busy_ns, figures.busy_is_exact});
  shared_.writer.close();
}

void CaptureDevices::finish() {
  // Ranges whose activities all came late, after the range had been given up.
  for (auto& [number, held] : held_) write(held);
  held_.clear();
  begun_.clear();
}

}  // namespace rangefinder::chrome
