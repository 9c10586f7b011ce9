// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_activities.hpp"

#include "exporter/chrome/nesting.hpp"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace rangefinder::chrome {
namespace {

// Ranges that are done, of a window: their memory is used again.
constexpr std::size_t kMaxSpare = std::size_t{1} << 14;

}  // namespace

void CaptureActivities::take(const DeviceWindow& window) {
  finish_ranges(&window);
  meet_streams(window);
  has_passes_ = has_passes_ || window.has_passes;
  is_apart_ = is_apart_ || window.is_apart;
  auto captured = window.captured.begin();
  for (ActivityIndex row{0}; row < window.activities.size(); ++row) {
    const bool is_captured = captured != window.captured.end() && captured->activity == row;
    add(window, row, is_captured ? &*captured : nullptr);
    captured += is_captured ? 1 : 0;
  }
  add_sums(window);
}

void CaptureActivities::meet_streams(const DeviceWindow& window) {
  for (const DeviceWindow::Stream& stream : window.new_streams) {
    Stream& met = streams_.emplace_back();
    met.track = devices_.track_of(stream.device, stream.context, stream.id);
    met.place.device = devices_.device_info(stream.device);
    met.place.context = stream.context;
    met.place.stream = stream.id;
  }
}

CaptureActivities::Activity CaptureActivities::activity_of(const DeviceWindow& window, ActivityIndex row,
                                                           const DeviceWindow::Captured* captured) {
  const ActivityTable& activities = window.activities;
  Activity out;
  out.kind = activities.kind[row];
  out.begin_ns = activities.begin_ns[row];
  out.end_ns = activities.end_ns[row];
  out.bytes = activities.bytes[row];
  out.head = window.places[row].head;
  out.place = streams_[activities.stream[row]].place;
  out.place.correlation = activities.correlation[row];
  out.place.external_id = window.places[row].external_id;
  out.place.graph_node = activities.graph_node[row];
  out.place.graph = activities.graph[row];
  if (out.kind == ActivityKind::kGraph) {
    using Launch = ActivityPlace::Launch;
    out.place.graph_launch = activities.estimated[row] ? Launch::kPart : Launch::kWhole;
    out.place.part_bytes = activities.bytes[row];
  }
  if (captured != nullptr) {
    out.place.captured_tid = shared_.table.track(host_.track_of_tid(captured->tid)).tid;
    out.place.captured_ns = captured->time_ns;
    out.captured_in = captured->ranges;
  }
  if (const std::uint32_t detail = activities.detail[row]; detail != kNone) {
    if (is_copy(out.kind))
      out.copy = window.copy_details[detail];
    else
      out.kernel = window.kernel_details[detail];
  }
  return out;
}

void CaptureActivities::add(const DeviceWindow& window, ActivityIndex row, const DeviceWindow::Captured* captured) {
  const StreamIndex index = window.activities.stream[row];
  Stream& stream = streams_[index];
  Activity activity = activity_of(window, row, captured);
  shared_.extend(activity.begin_ns, activity.end_ns);
  const std::uint32_t level = stream.row.add_activity(activity.begin_ns, activity.end_ns);
  if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
  activity.track = shared_.table.overflow(stream.track, level);
  const bool wanted = shared_.in_window(activity.begin_ns, activity.end_ns);
  const SlicePlace place{wanted ? activity.track : kNoTrack, activity.begin_ns, activity.end_ns};
  const auto correlation = static_cast<std::uint32_t>(activity.place.correlation);
  begin_ranges(window, index, window.places[row].innermost, level, wanted ? &activity : nullptr);
  launches_.arrow_to(correlation, place);
}

void CaptureActivities::begin_ranges(const DeviceWindow& window, StreamIndex stream, RangeIndex innermost,
                                     std::uint32_t level, Activity* activity) {
  RangeIndex at = innermost;
  const auto next_out = [&](std::uint64_t) {
    at = shared_.options.inclusive_ranges ? window.parent[at] : RangeIndex(kNone);
    return window.key_of(at);
  };
  const std::vector<std::uint64_t>* const begun =
      innermost != kNone ? &streams_[stream].row.begin_ranges(window.key_of(innermost), next_out) : nullptr;
  const bool waits = begun != nullptr && !begun->empty();
  if (activity != nullptr && (!waits || level != 0)) write(*activity);
  if (!waits) return;
  const std::size_t place = hold();
  Held& held = held_[place];
  if (activity != nullptr && level == 0) held.activity = std::move(*activity);
  held.missing = begun->size();
  for (const std::uint64_t key : *begun) range_at(key).begun.push_back({stream, place});
}

CaptureActivities::Range& CaptureActivities::range_at(std::uint64_t key) {
  const bool has_free = !free_ranges_.empty();
  const auto place = has_free ? free_ranges_.back() : static_cast<std::uint32_t>(ranges_.size());
  const std::uint32_t found = range_places_.find_or_set(key, place);
  if (found != place) return ranges_[found];
  if (has_free)
    free_ranges_.pop_back();
  else
    ranges_.emplace_back();
  ranges_[place].key = key;
  return ranges_[place];
}

std::size_t CaptureActivities::hold() {
  if (free_held_.empty()) {
    free_held_.push_back(held_.size());
    held_.emplace_back();
  }
  const std::size_t place = free_held_.back();
  free_held_.pop_back();
  held_[place].number = ++last_held_;
  return place;
}

void CaptureActivities::release(std::size_t place) {
  Held& held = held_[place];
  held.activity.reset();
  held.spans.clear();
  held.number = 0;
  free_held_.push_back(place);
}

void CaptureActivities::add_sums(const DeviceWindow& window) {
  const bool inclusive = shared_.options.inclusive_ranges;
  for (std::size_t i = 0; i < window.figures.size(); ++i) {
    const StreamFigures& figures = window.figures[i];
    const std::uint64_t key = window.key_of(figures.range);
    const std::uint32_t depth = window.depth[figures.range];
    const bool nests = window.nests(figures.range);
    if (inclusive && nests && depth >= kMaxSpanDepth) {
      if (too_deep_.emplace(key, figures.stream).second) shared_.notes.add(ExportNotes::kDeepRange);
      continue;
    }
    Range& range = range_at(key);
    range.head = window.heads[i];
    range.depth = depth;
    range.nests = nests;
    const auto found = std::find_if(range.sums.begin(), range.sums.end(),
                                    [&](const Sum& sum) { return sum.stream == figures.stream; });
    Sum& sum = found != range.sums.end() ? *found : range.sums.emplace_back(Sum{figures.stream});
    if (sum.gpu_ops == 0) {
      sum.first_ns = figures.first_ns;
      sum.last_ns = figures.last_ns;
    }
    // Activities come in order of their begin. Where some go on into the next window beside others, the union is not
    // known.
    sum.busy_is_exact = sum.busy_is_exact && (sum.gpu_ops == 0 || figures.first_ns >= sum.last_ns);
    sum.gpu_ops += figures.gpu_ops;
    sum.gpu_sum_ns += figures.gpu_sum_ns;
    sum.gpu_busy_ns += figures.gpu_busy_ns;
    sum.first_ns = std::min(sum.first_ns, figures.first_ns);
    sum.last_ns = std::max(sum.last_ns, figures.last_ns);
    if (window.passes.empty())
      sum.passes[static_cast<std::size_t>(Pass::kForward)] += figures.gpu_sum_ns;
    else
      for (std::size_t pass = 0; pass < kPasses; ++pass) sum.passes[pass] += window.passes[i][pass];
  }
}

void CaptureActivities::finish_ranges(const DeviceWindow* window) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> done;
  for (std::uint32_t place = 0; place < ranges_.size(); ++place)
    if (const std::uint64_t key = ranges_[place].key; key != 0 && (window == nullptr || !window->keeps(key)))
      done.emplace_back(key, place);
  std::sort(done.begin(), done.end(), std::greater<>());  // inner ones first
  for (const auto& [key, place] : done) {
    Range& range = ranges_[place];
    finish_range(range);
    range_places_.erase(key);
    Range freed;
    if (free_ranges_.size() < kMaxSpare) {
      freed.sums = std::move(range.sums);
      freed.sums.clear();
      freed.begun = std::move(range.begun);
      freed.begun.clear();
    }
    range = std::move(freed);
    free_ranges_.push_back(place);
  }
  for (Stream& stream : streams_) place_waiting(stream);
  if (window != nullptr) std::erase_if(too_deep_, [&](const auto& span) { return !window->keeps(span.first); });
}

void CaptureActivities::finish_range(const Range& range) {
  const std::uint64_t key = range.key;
  for (const Sum& sum : range.sums) {
    const Span span{key, range.head, range.depth, sum};
    const auto here = std::find_if(range.begun.begin(), range.begun.end(),
                                   [&](const Begun& place) { return place.stream == sum.stream; });
    if (!range.nests)
      streams_[sum.stream].start_end_waiting.push_back(span);
    else if (here != range.begun.end())
      held_[here->held].spans.push_back(span);
    else
      place_on_row(span);
  }
  for (const Begun& place : range.begun) {
    if (!range.nests) streams_[place.stream].row.forget_range(key);
    Held& held = held_[place.held];
    if (--held.missing != 0) continue;
    write(held);
    release(place.held);
  }
}

void CaptureActivities::place_on_row(const Span& span) {
  Stream& stream = streams_[span.sum.stream];
  if (stream.row.end_range(span.key, span.sum.first_ns, span.sum.last_ns)) return write(span, stream.track);
  shared_.notes.add(ExportNotes::kOverlapping);
  stream.beside_waiting.push_back(span);
}

void CaptureActivities::place_waiting(Stream& stream) {
  place_end_to_end(stream, Beside::kStartEnd, stream.start_end_waiting, stream.start_end);
  if (is_apart_) return place_apart(stream);
  place_end_to_end(stream, Beside::kRanges, stream.beside_waiting, stream.spans_beside);
}

/// In order of their begin, as the export of a timeline does.
void CaptureActivities::place_end_to_end(Stream& stream, Beside beside, std::vector<Span>& spans, EndToEnd& rows) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.sum.first_ns, a.key) < std::tie(b.sum.first_ns, b.key);
  });
  for (const Span& span : spans) {
    const std::uint32_t level = rows.add(span.sum.first_ns, span.sum.last_ns);
    if (level != 0 && beside == Beside::kStartEnd) shared_.notes.add(ExportNotes::kOverlapping);
    write(span, shared_.table.overflow(shared_.layout.beside(stream.track, beside), level));
  }
  spans.clear();
}

/// Of work that is apart in time, spans contain each other as passes do, the backward one in reverse order: rows are
/// shared where they nest.
void CaptureActivities::place_apart(Stream& stream) {
  if (stream.beside_waiting.empty()) return;
  std::vector<Placed> slices;
  for (std::size_t i = 0; i < stream.beside_waiting.size(); ++i) {
    const Span& span = stream.beside_waiting[i];
    slices.push_back({span.sum.first_ns, span.sum.last_ns, static_cast<std::uint32_t>(stream.beside_waiting.size() - i),
                      static_cast<std::uint8_t>(std::min(span.depth, kMaxSpanDepth - 1)), 0, 0});
  }
  nest(slices);
  const std::uint32_t base = slices.front().begin_ns >= stream.apart_to ? 0 : stream.apart_rows;
  for (const Placed& slice : slices) {
    stream.apart_to = std::max(stream.apart_to, slice.end_ns);
    stream.apart_rows = std::max(stream.apart_rows, base + slice.level + 1);
    write(stream.beside_waiting[stream.beside_waiting.size() - slice.row],
          shared_.table.overflow(shared_.layout.beside(stream.track, Beside::kRanges), base + slice.level));
  }
  stream.beside_waiting.clear();
}

void CaptureActivities::write(const Activity& activity) {
  EventWriter& writer = shared_.writer;
  ActivityPlace place = activity.place;
  place.captured_in = activity.captured_in;
  writer.open_slice(activity.head, shared_.ids(activity.track), activity.begin_ns, activity.end_ns);
  if (!is_copy(activity.kind))
    write_kernel_arguments(writer, place, activity.kernel ? &*activity.kernel : nullptr, kernel_texts_);
  else
    write_copy_arguments(writer, place, activity.copy ? &*activity.copy : nullptr, activity.bytes,
                         activity.end_ns - activity.begin_ns);
  writer.close();
}

void CaptureActivities::write(Held& held) {
  for (std::size_t i = held.spans.size(); i-- > 0;) place_on_row(held.spans[i]);
  if (held.activity) write(*held.activity);
}

void CaptureActivities::write(const Span& span, TrackId track) {
  const Sum& sum = span.sum;
  if (!shared_.in_window(sum.first_ns, sum.last_ns)) return;
  shared_.writer.open_slice(span.head, shared_.ids(track), sum.first_ns, sum.last_ns);
  write_range_figures(shared_.writer, {static_cast<std::int64_t>(span.key), sum.gpu_ops, sum.gpu_sum_ns,
                                       sum.gpu_busy_ns, sum.busy_is_exact, has_passes_ ? &sum.passes : nullptr});
  shared_.writer.close();
}

void CaptureActivities::finish() {
  finish_ranges(nullptr);
  std::vector<Held*> left;
  for (Held& held : held_)
    if (held.number != 0) left.push_back(&held);
  std::sort(left.begin(), left.end(), [](const Held* a, const Held* b) { return a->number < b->number; });
  for (Held* const held : left) write(*held);
  held_.clear();
  for (Stream& stream : streams_) place_waiting(stream);
}

}  // namespace rangefinder::chrome
