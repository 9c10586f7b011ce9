// SPDX-License-Identifier: MIT
#include "exporter/chrome/timeline_slices.hpp"

#include "exporter/chrome/activity_arguments.hpp"
#include "exporter/chrome/attachments.hpp"
#include "exporter/chrome/clean_json.hpp"
#include "exporter/chrome/collective_arguments.hpp"
#include "exporter/chrome/end_to_end.hpp"
#include "exporter/chrome/nesting_levels.hpp"
#include "exporter/chrome/span_nesting.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

constexpr std::uint64_t kProgressStep = 1 << 16;

Category category_of(RangeKind kind) noexcept {
  switch (kind) {
    case RangeKind::kAnnotation:
      return Category::kAnnotation;
    case RangeKind::kOperator:
      return Category::kOperator;
    case RangeKind::kPythonFunction:
      return Category::kPythonFunction;
    case RangeKind::kOther:
      break;
  }
  return Category::kAnnotation;
}

/// Slices that cut each other: what the program's author wrote stays on the row, then the CUDA calls.
std::uint8_t weight_of(RangeKind kind) noexcept {
  switch (kind) {
    case RangeKind::kAnnotation:
    case RangeKind::kOperator:
      return 5;
    case RangeKind::kPythonFunction:
      return 2;
    case RangeKind::kOther:
      break;
  }
  return 1;
}
constexpr std::uint8_t kNodeWeight = 5;
constexpr std::uint8_t kCallWeight = 4;
constexpr std::uint8_t kOverheadWeight = 3;
constexpr std::uint8_t kActivityWeight = 5;
constexpr std::uint8_t kSpanWeight = 4;
// Of a stream's slices with equal times: ranges by their depth, then what they launched.
constexpr std::uint8_t kActivityOrder = kMaxSpanDepth;

void lay_end_to_end(std::vector<Placed>& slices) {
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Placed& a, const Placed& b) { return a.begin_ns < b.begin_ns; });
  EndToEnd rows;
  for (Placed& slice : slices) slice.level = rows.add(slice.begin_ns, slice.end_ns);
}

}  // namespace

void TimelineSlices::add(TrackId track, Kind kind, std::size_t row, std::int64_t begin_ns, std::int64_t end_ns) {
  if (!shared_.in_window(begin_ns, end_ns)) return;
  if (track >= tracks_.size()) tracks_.resize(track + 1);
  TrackSlices& slices = tracks_[track];
  slices.rows.push_back(static_cast<std::uint32_t>(row));
  if (slices.parts.empty() || slices.parts.back().kind != kind) slices.parts.push_back({kind, 0});
  slices.parts.back().end = slices.rows.size();
  ++slices_;
}

void TimelineSlices::collect_ranges() {
  const RangeTable& ranges = shared_.timeline.ranges;
  for (RangeIndex i{0}; i < ranges.size(); ++i) {
    // Graphs that were captured days ago do not stretch the trace: their operations name the ranges.
    if ((ranges.flags[i] & kBeforeRecording) != 0) continue;
    TrackId track = shared_.threads[ranges.thread[i]];
    const bool need_not_nest = ranges.style[i] == RangeStyle::kStartEnd || (ranges.flags[i] & kEndedElsewhere) != 0;
    if (need_not_nest) track = flat(shared_.layout.beside(track, Beside::kStartEnd));
    add(track, Kind::kRange, i, ranges.begin_ns[i], ranges.end_ns[i]);
  }
  const AutogradNodeTable& nodes = shared_.timeline.autograd_nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes.range[i] != kNone) continue;  // it is written as one
    const std::int64_t start_ns =
        shared_.timeline.processes[shared_.timeline.threads[nodes.thread[i]].process].start_ns;
    if (nodes.begin_ns[i] < start_ns) continue;  // of a captured backward; where no start is known, that is kNoTime
    add(shared_.threads[nodes.thread[i]], Kind::kNode, i, nodes.begin_ns[i], nodes.end_ns[i]);
  }
  const CallTable& calls = shared_.timeline.calls;
  for (CallIndex i{0}; shared_.options.api_calls && i < calls.size(); ++i)
    add(shared_.threads[calls.thread[i]], Kind::kCall, i, calls.begin_ns[i], calls.end_ns[i]);
  const OverheadTable& overheads = shared_.timeline.overheads;
  for (std::uint32_t i = 0; shared_.options.overheads && i < overheads.size(); ++i) {
    const ThreadIndex thread = overheads.thread[i];
    const TrackId track = thread == kNone ? shared_.layout.overheads() : shared_.threads[thread];
    add(track, Kind::kOverhead, i, overheads.begin_ns[i], overheads.end_ns[i]);
  }
}

void TimelineSlices::collect_device_rows() {
  const ActivityTable& activities = shared_.timeline.activities;
  for (ActivityIndex i{0}; i < activities.size(); ++i)
    add(shared_.streams[activities.stream[i]], Kind::kActivity, i, activities.begin_ns[i], activities.end_ns[i]);
  const SyncTable& syncs = shared_.timeline.syncs;
  for (std::uint32_t i = 0; shared_.options.syncs && i < syncs.size(); ++i) {
    add(flat(track_of_sync(i)), Kind::kSync, i, syncs.begin_ns[i], syncs.end_ns[i]);
  }
}

TrackId TimelineSlices::track_of_sync(std::uint32_t row) {
  const SyncTable& syncs = shared_.timeline.syncs;
  if (syncs.stream[row] != kNone) return shared_.layout.beside(shared_.streams[syncs.stream[row]], Beside::kWaits);
  if (syncs.device[row] != kNone) return shared_.layout.waits(shared_.devices[syncs.device[row]]);
  return shared_.processes.empty() ? shared_.layout.overheads() : shared_.layout.waits(shared_.processes.front());
}

TrackId TimelineSlices::flat(TrackId track) {
  if (track >= flat_tracks_.size()) flat_tracks_.resize(track + 1);
  flat_tracks_[track] = true;
  return track;
}

void TimelineSlices::collect_spans() {
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const StreamFigures& figures = spans_.figures(i);
    const TrackId stream = shared_.streams[figures.stream];
    if (spans_.row(i) == TimelineSpans::Row::kNone) {
      shared_.notes.add(ExportNotes::kDeepRange);
      continue;
    }
    const bool need_not_nest = spans_.row(i) == TimelineSpans::Row::kStartEnd;
    add(need_not_nest ? flat(shared_.layout.beside(stream, Beside::kStartEnd)) : stream, Kind::kSpan, i,
        figures.first_ns, figures.last_ns);
  }
}

void TimelineSlices::collect_steps() {
  // In torch.profiler's traces steps are ranges like others, and are there already.
  if (shared_.timeline.format == InputFormat::kKineto) return;
  const StepTable& steps = shared_.timeline.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ProcessIndex process = shared_.timeline.threads[steps.thread[i]].process;
    add(flat(shared_.layout.steps(shared_.processes[process])), Kind::kStep, i, steps.begin_ns[i], steps.end_ns[i]);
  }
}

void TimelineSlices::collect(const std::vector<ForeignSlice>& foreign) {
  collect_ranges();
  collect_device_rows();
  collect_spans();
  collect_steps();
  for (std::size_t i = 0; i < foreign.size(); ++i)
    add(foreign[i].track, Kind::kForeign, i, foreign[i].begin_ns, foreign[i].end_ns);
}

Placed TimelineSlices::placed(const Entry& entry, const std::vector<ForeignSlice>& foreign) const {
  const Timeline& timeline = shared_.timeline;
  const std::uint32_t i = entry.row;
  Placed out;
  out.row = i;
  const auto take = [&](std::int64_t begin_ns, std::int64_t end_ns, std::uint8_t order, std::uint8_t weight) {
    out.begin_ns = begin_ns;
    out.end_ns = std::max(begin_ns, end_ns);
    out.order = order;
    out.weight = weight;
  };
  switch (entry.kind) {
    case Kind::kRange:
      take(timeline.ranges.begin_ns[i], timeline.ranges.end_ns[i], 0, weight_of(timeline.ranges.kind[i]));
      break;
    case Kind::kCall:
      take(timeline.calls.begin_ns[i], timeline.calls.end_ns[i], 2, kCallWeight);
      break;
    case Kind::kOverhead:
      take(timeline.overheads.begin_ns[i], timeline.overheads.end_ns[i], 3, kOverheadWeight);
      break;
    case Kind::kActivity:
      take(timeline.activities.begin_ns[i], timeline.activities.end_ns[i], kActivityOrder, kActivityWeight);
      break;
    case Kind::kSpan: {
      const StreamFigures& figures = spans_.figures(i);
      const std::uint32_t depth = std::min(shared_.projection.depth[figures.range], kMaxSpanDepth - 1);
      take(figures.first_ns, figures.last_ns, static_cast<std::uint8_t>(depth), kSpanWeight);
      break;
    }
    case Kind::kSync:
      take(timeline.syncs.begin_ns[i], timeline.syncs.end_ns[i], 2, 0);
      break;
    case Kind::kStep:
      take(timeline.steps.begin_ns[i], timeline.steps.end_ns[i], 0, 0);
      break;
    case Kind::kNode:
      take(timeline.autograd_nodes.begin_ns[i], timeline.autograd_nodes.end_ns[i], 0, kNodeWeight);
      break;
    case Kind::kForeign:
      take(foreign[i].begin_ns, foreign[i].end_ns, kActivityOrder + 1, 0);
      break;
  }
  return out;
}

std::vector<std::uint32_t> TimelineSlices::in_order(const TrackSlices& all, bool is_flat,
                                                    const std::vector<ForeignSlice>& foreign,
                                                    std::vector<Placed>& cut) const {
  // The position stands for the row: slices of several kinds share a track.
  const auto slice = [&](std::uint32_t position) {
    Placed out = placed(all.at(position), foreign);
    out.row = position;
    return out;
  };
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const Placed first = slice(a), second = slice(b);
    if (!is_flat) return is_outer_first(first, second);
    return first.begin_ns != second.begin_ns ? first.begin_ns < second.begin_ns : a < b;
  };
  std::vector<std::uint32_t> order;
  order.reserve(all.rows.size());
  std::uint32_t position = 0;
  for (const TrackSlices::Part& part : all.parts) {
    const auto sorted = static_cast<std::ptrdiff_t>(order.size());
    for (; position < part.end; ++position) {
      const bool is_span = part.kind == Kind::kSpan;
      if (is_span && spans_.row(all.rows[position]) == TimelineSpans::Row::kBeside)
        cut.push_back(slice(position));
      else
        order.push_back(position);
    }
    // Rows of one kind are mostly in order.
    if (!std::is_sorted(order.begin() + sorted, order.end(), before))
      std::sort(order.begin() + sorted, order.end(), before);
    std::inplace_merge(order.begin(), order.begin() + sorted, order.end(), before);
  }
  return order;
}

void TimelineSlices::place(TrackId track, const TrackSlices& all, const std::vector<ForeignSlice>& foreign) {
  const bool is_flat = track < flat_tracks_.size() && flat_tracks_[track];
  std::vector<Placed> cut;  // spans that cannot stay
  const std::vector<std::uint32_t> order = in_order(all, is_flat, foreign, cut);
  const auto slice = [&](std::uint32_t place) { return placed(all.at(order[place]), foreign); };
  const auto count = static_cast<std::uint32_t>(order.size());
  std::vector<std::uint32_t> levels;  // empty: all on the row itself
  if (!is_flat) levels = NestingLevels(count, slice).find();
  EndToEnd rows;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Entry entry = all.at(order[i]);
    Placed here = slice(i);
    here.level = is_flat ? rows.add(here.begin_ns, here.end_ns) : levels.empty() ? 0 : levels[i];
    if (here.level != 0) shared_.notes.add(ExportNotes::kOverlapping);
    here.row = order[i];
    if (entry.kind == Kind::kSpan && here.level != 0 && !is_flat)
      cut.push_back(here);  // what it would cut is an activity
    else
      write_slice(entry.kind, entry.row, shared_.layout.table().overflow(track, here.level), foreign);
  }
  if (cut.empty()) return;
  // Of work that is apart in time (the backward pass, replays of a graph), spans contain each other in the order of
  // passes: rows are shared where they nest.
  const bool is_apart = shared_.timeline.autograd_nodes.size() != 0 || !shared_.projection.place.empty();
  is_apart ? nest(cut) : lay_end_to_end(cut);
  const TrackId beside = shared_.layout.beside(track, Beside::kRanges);
  for (const Placed& span : cut) {
    const Entry entry = all.at(span.row);
    if (spans_.row(entry.row) == TimelineSpans::Row::kBeside) shared_.notes.add(ExportNotes::kOverlapping);
    write_slice(entry.kind, entry.row, shared_.layout.table().overflow(beside, span.level), foreign);
  }
}

void TimelineSlices::write(const std::vector<ForeignSlice>& foreign,
                           const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const Timeline& timeline = shared_.timeline;
  call_tracks_.assign(timeline.calls.size(), kNoTrack);
  activity_tracks_.assign(timeline.activities.size(), kNoTrack);
  range_tracks_.assign(timeline.ranges.size(), kNoTrack);
  node_tracks_.assign(timeline.autograd_nodes.size(), kNoTrack);
  call_ranges_.assign(timeline.calls.size(), kNone);
  for (ActivityIndex i{0}; i < timeline.activities.size(); ++i) {
    const LaunchIndex launch = timeline.activities.launch[i];
    if (launch != kNone && timeline.launches.call[launch] != kNone)
      call_ranges_[timeline.launches.call[launch]] = shared_.launching_range(i);
  }
  collect(foreign);
  std::uint64_t reported = 0, at = 0;
  for (TrackId track = 0; track < tracks_.size(); ++track) {
    const TrackSlices slices = std::move(tracks_[track]);  // their memory ends with their track
    if (slices.rows.empty()) continue;
    place(track, slices, foreign);
    at += slices.rows.size();
    if (at - reported < kProgressStep && at != slices_) continue;
    reported = at;
    progress(at, slices_);
  }
  step_events_.finish();
}

void TimelineSlices::write_slice(Kind kind, std::uint32_t row, TrackId track,
                                 const std::vector<ForeignSlice>& foreign) {
  EventWriter& writer = shared_.writer;
  const Timeline& timeline = shared_.timeline;
  switch (kind) {
    case Kind::kRange:
      return write_range(RangeIndex(row), track);
    case Kind::kCall:
      return write_call(CallIndex(row), track);
    case Kind::kActivity:
      return write_activity(ActivityIndex(row), track);
    case Kind::kSync:
      return write_sync(row, track);
    case Kind::kStep:
      return write_step(row, track);
    case Kind::kNode:
      return write_node(row, track);
    case Kind::kSpan:
      return write_span(spans_.figures(row), spans_.passes(row), track);
    case Kind::kOverhead:
      writer.open_slice(shared_.head(Category::kOverhead, timeline.overheads.name[row]),
                        shared_.layout.table().ids(track), timeline.overheads.begin_ns[row],
                        timeline.overheads.end_ns[row]);
      write_kept_arguments(timeline.overheads.source_row[row]);
      return writer.close();
    case Kind::kForeign:
      writer.open_slice(foreign[row].head, shared_.layout.table().ids(track), foreign[row].begin_ns,
                        foreign[row].end_ns);
      if (!foreign[row].arguments.empty()) writer.raw_arguments(foreign[row].arguments);
      return writer.close();
  }
}

bool TimelineSlices::write_kept_arguments(std::int64_t source_row) {
  if (source_row < 0) return false;
  const std::string_view kept = shared_.timeline.arguments.find(source_row);
  if (kept.empty()) return false;
  scratch_.clear();
  if (!append_clean_members(scratch_, kept)) {
    shared_.notes.add(ExportNotes::kArguments);
    return false;
  }
  shared_.writer.raw_arguments(scratch_);
  return true;
}

void TimelineSlices::write_range(RangeIndex row, TrackId track) {
  EventWriter& writer = shared_.writer;
  const Timeline& timeline = shared_.timeline;
  const RangeTable& ranges = timeline.ranges;
  range_tracks_[row] = track;
  std::string_view head;
  std::string other;
  if (ranges.kind[row] == RangeKind::kOther) {
    // Readers call a function of every slice's category.
    const std::string_view category = timeline.text(ranges.category[row]);
    append_head(other, 'X', category.empty() ? "other" : category, timeline.text(ranges.name[row]));
    head = other;
  } else {
    head = shared_.head(category_of(ranges.kind[row]), ranges.name[row]);
  }
  writer.open_slice(head, shared_.layout.table().ids(track), ranges.begin_ns[row], ranges.end_ns[row]);
  if (!write_kept_arguments(ranges.source_row[row])) {
    if (shared_.external_id(row) >= 0)
      writer.argument("\"External id\":", static_cast<std::uint64_t>(shared_.external_id(row)));
    const bool told = timeline.format == InputFormat::kKineto || ranges.kind[row] == RangeKind::kOperator;
    if (!told && ranges.category[row] != StringId::kEmpty)
      writer.text_argument("\"category\":", timeline.text(ranges.category[row]));
    if (ranges.domain[row] != StringId::kEmpty) writer.text_argument("\"domain\":", timeline.text(ranges.domain[row]));
    if ((ranges.flags[row] & kUnfinished) != 0) writer.text_argument("\"finished\":", "false");
    if ((ranges.flags[row] & kSuspended) != 0) writer.argument("\"suspended\":", 1);
    if ((ranges.flags[row] & kResumed) != 0 && ranges.opened_ns[row] != kNoTime)
      writer.signed_argument("\"opened ns ago\":", ranges.begin_ns[row] - ranges.opened_ns[row]);
    if (ranges.kind[row] == RangeKind::kOperator) write_operator(row);
    write_attachments(writer, timeline, Attachment::Target::kRange, row);
  }
  writer.close();
}

void TimelineSlices::write_operator(RangeIndex range) {
  const OperatorTable& operators = shared_.timeline.operators;
  const auto found = std::lower_bound(operators.range.begin(), operators.range.end(), range);
  if (found == operators.range.end() || *found != range) return;
  const auto row = static_cast<std::size_t>(found - operators.range.begin());
  const auto text = [&](StringId id) { return shared_.timeline.text(id); };
  write_operator_arguments(shared_.writer,
                           {operators.sequence[row], operators.forward_thread_id[row], text(operators.shapes[row]),
                            text(operators.types[row]), text(operators.values[row])});
}

void TimelineSlices::write_call(CallIndex row, TrackId track) {
  const CallTable& calls = shared_.timeline.calls;
  call_tracks_[row] = track;
  shared_.writer.open_slice(shared_.head(chrome::category_of(calls.domain[row]), calls.name[row]),
                            shared_.layout.table().ids(track), calls.begin_ns[row], calls.end_ns[row]);
  if (!write_kept_arguments(calls.source_row[row])) {
    CallFacts facts{calls.correlation[row], calls.external_id[row], 0, calls.result[row]};
    const RangeIndex range = call_ranges_[row];
    if (facts.external_id < 0 && range != kNone) facts.external_id = shared_.external_id(range);
    write_call_arguments(shared_.writer, facts);
  }
  shared_.writer.close();
}

void TimelineSlices::write_activity(ActivityIndex row, TrackId track) {
  EventWriter& writer = shared_.writer;
  const Timeline& timeline = shared_.timeline;
  const ActivityTable& activities = timeline.activities;
  activity_tracks_[row] = track;
  const std::int64_t begin = activities.begin_ns[row];
  const std::int64_t end = activities.end_ns[row];
  writer.open_slice(shared_.head(chrome::category_of(activities.kind[row]), activities.name[row]),
                    shared_.layout.table().ids(track), begin, end);
  const std::uint32_t detail = activities.detail[row];
  // What an input kept is text; a target may want the launch in numbers, too.
  if (writer.has_target() && !is_copy(activities.kind[row]) && detail != kNone)
    (void)writer.kernel(timeline.devices[timeline.streams[activities.stream[row]].device],
                        timeline.kernel_details[detail]);
  if (!write_kept_arguments(activities.source_row[row])) {
    const StreamInfo& stream = timeline.streams[activities.stream[row]];
    ActivityPlace place{&timeline.devices[stream.device],
                        stream.context,
                        stream.id,
                        activities.correlation[row],
                        activities.external_id[row],
                        activities.graph_node[row],
                        activities.graph[row]};
    if (activities.kind[row] == ActivityKind::kGraph) {
      using Launch = ActivityPlace::Launch;
      place.graph_launch = activities.estimated[row] ? Launch::kPart : Launch::kWhole;
      place.part_bytes = activities.bytes[row];
    }
    if (const LaunchIndex captured = activities.captured[row]; captured < timeline.launches.size()) {
      place.captured_tid = shared_.layout.table().track(shared_.threads[timeline.launches.thread[captured]]).tid;
      place.captured_ns = timeline.launches.time_ns[captured];
      place.captured_in = shared_.ranges_not_written(row);
    }
    const std::string collective = collective_arguments(timeline, activities.collective[row]);
    place.collective = collective;
    const RangeIndex range = shared_.launching_range(row);
    if (place.external_id < 0 && range != kNone) place.external_id = shared_.external_id(range);
    if (!is_copy(activities.kind[row])) {
      write_kernel_arguments(writer, place, detail == kNone ? nullptr : &timeline.kernel_details[detail],
                             kernel_texts_);
    } else {
      write_copy_arguments(writer, place, detail == kNone ? nullptr : &timeline.copy_details[detail],
                           activities.bytes[row], end - begin);
    }
  }
  writer.close();
}

void TimelineSlices::write_sync(std::uint32_t row, TrackId track) {
  const Timeline& timeline = shared_.timeline;
  const SyncTable& syncs = timeline.syncs;
  SyncFacts facts;
  facts.type = syncs.type[row];
  facts.correlation = syncs.correlation[row];
  if (syncs.device[row] != kNone) facts.device = &timeline.devices[syncs.device[row]];
  if (syncs.stream[row] != kNone) {
    facts.stream = timeline.streams[syncs.stream[row]].id;
    facts.context = timeline.streams[syncs.stream[row]].context;
  }
  if (const StreamIndex recorded_on = syncs.event_stream[row]; recorded_on != kNone)
    facts.event_stream = timeline.streams[recorded_on].id;
  scratch_.clear();
  append_head(scratch_, 'X', to_string(Category::kSync), sync_name(facts.type));
  shared_.writer.open_slice(scratch_, shared_.layout.table().ids(track), syncs.begin_ns[row], syncs.end_ns[row]);
  if (!write_kept_arguments(syncs.source_row[row])) write_sync_arguments(shared_.writer, facts);
  shared_.writer.close();
}

void TimelineSlices::write_node(std::uint32_t row, TrackId track) {
  const AutogradNodeTable& nodes = shared_.timeline.autograd_nodes;
  node_tracks_[row] = track;
  shared_.writer.open_slice(shared_.head(Category::kOperator, nodes.name[row]), shared_.layout.table().ids(track),
                            nodes.begin_ns[row], nodes.end_ns[row]);
  NodeFacts facts{nodes.sequence[row], 0, nodes.forward_ns[row]};
  if (facts.made_ns != kNoTime)
    facts.forward_tid = shared_.layout.table().track(shared_.threads[nodes.forward_thread[row]]).tid;
  write_node_arguments(shared_.writer, facts);
  shared_.writer.close();
}

void TimelineSlices::write_span(const StreamFigures& figures, const analysis::PassTimes* passes, TrackId track) {
  shared_.writer.open_slice(shared_.head(Category::kGpuAnnotation, shared_.timeline.ranges.name[figures.range]),
                            shared_.layout.table().ids(track), figures.first_ns, figures.last_ns);
  write_range_figures(shared_.writer, {shared_.external_id(figures.range), figures.gpu_ops, figures.gpu_sum_ns,
                                       figures.gpu_busy_ns, true, passes});
  shared_.writer.close();
}

void TimelineSlices::write_step(std::uint32_t row, TrackId track) {
  const StepTable& steps = shared_.timeline.steps;
  const ProcessIndex process = shared_.timeline.threads[steps.thread[row]].process;
  step_events_.write({steps.number[row], steps.begin_ns[row], steps.end_ns[row], steps.items[row]}, track,
                     shared_.layout.steps(shared_.processes[process]));
}

}  // namespace rangefinder::chrome
