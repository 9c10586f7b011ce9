// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_activities.hpp"

#include "exporter/chrome/nesting.hpp"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace rangefinder::chrome {
CaptureActivities::EarlierActivity::EarlierActivity(const Activity& of_window)
    : activity(of_window), captured_in(of_window.place.captured_in) {
  activity.place.captured_in = captured_in;
  if (of_window.kernel != nullptr) activity.kernel = &kernel.emplace(*of_window.kernel);
  if (of_window.copy != nullptr) activity.copy = &copy.emplace(*of_window.copy);
}

void CaptureActivities::take(DeviceWindow window) {
  finish_ranges(&window);
  keep_activities();
  window_ = std::move(window);
  place_of_row_.assign(window_.keys.size(), kNone);
  meet_streams();
  has_passes_ = has_passes_ || window_.has_passes;
  is_apart_ = is_apart_ || window_.is_apart;
  auto captured = window_.captured.begin();
  for (ActivityIndex row{0}; row < window_.activities.size(); ++row) {
    const bool is_captured = captured != window_.captured.end() && captured->activity == row;
    add(row, is_captured ? &*captured : nullptr);
    captured += is_captured ? 1 : 0;
  }
  add_sums();
}

void CaptureActivities::meet_streams() {
  for (const DeviceWindow::Stream& stream : window_.new_streams) {
    Stream& met = streams_.emplace_back();
    met.track = devices_.track_of(stream.device, stream.context, stream.id);
    met.place.device = devices_.device_info(stream.device);
    met.place.context = stream.context;
    met.place.stream = stream.id;
  }
}

/// On the row of its stream itself.
CaptureActivities::Activity CaptureActivities::activity_of(ActivityIndex row) const {
  const ActivityTable& activities = window_.activities;
  const Stream& stream = streams_[activities.stream[row]];
  const DeviceWindow::Place& place = window_.places[row];
  Activity out;
  out.head = place.head;
  out.place = stream.place;
  out.place.correlation = activities.correlation[row];
  out.place.external_id = place.external_id;
  out.place.graph_node = activities.graph_node[row];
  out.place.graph = activities.graph[row];
  out.kind = activities.kind[row];
  out.begin_ns = activities.begin_ns[row];
  out.end_ns = activities.end_ns[row];
  out.bytes = activities.bytes[row];
  out.track = stream.track;
  if (out.kind == ActivityKind::kGraph) {
    using Launch = ActivityPlace::Launch;
    out.place.graph_launch = activities.estimated[row] ? Launch::kPart : Launch::kWhole;
    out.place.part_bytes = activities.bytes[row];
  }
  if (const DeviceWindow::Captured* const captured = window_.captured_of(row)) {
    out.place.captured_tid = shared_.table.track(host_.track_of_tid(captured->tid)).tid;
    out.place.captured_ns = captured->time_ns;
    out.place.captured_in = captured->ranges;
  }
  out.place.collective = window_.collective_of(row);
  if (const std::uint32_t detail = activities.detail[row]; detail != kNone) {
    if (is_copy(out.kind))
      out.copy = &window_.copy_details[detail];
    else
      out.kernel = &window_.kernel_details[detail];
  }
  return out;
}

void CaptureActivities::add(ActivityIndex row, const DeviceWindow::Captured* captured) {
  const ActivityTable& activities = window_.activities;
  const StreamIndex index = activities.stream[row];
  const std::int64_t begin_ns = activities.begin_ns[row];
  const std::int64_t end_ns = activities.end_ns[row];
  Stream& stream = streams_[index];
  if (captured != nullptr) (void)host_.track_of_tid(captured->tid);  // rows have numbers in order of activities
  shared_.extend(begin_ns, end_ns);
  const std::uint32_t level = stream.row.add_activity(begin_ns, end_ns);
  if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
  const TrackId track = shared_.table.overflow(stream.track, level);
  const bool wanted = shared_.in_window(begin_ns, end_ns);
  const std::uint32_t held = begin_ranges(index, window_.places[row].innermost);
  if (wanted && held != kNone && level == 0) {
    held_[held].row = row;
  } else if (wanted) {
    Activity activity = activity_of(row);
    activity.track = track;
    write(activity);
  }
  launches_.arrow_to(static_cast<std::uint32_t>(activities.correlation[row]),
                     {wanted ? track : kNoTrack, begin_ns, end_ns});
}

std::uint32_t CaptureActivities::begin_ranges(StreamIndex stream, RangeIndex innermost) {
  if (innermost == kNone) return kNone;
  around_.assign(1, innermost);
  const auto next_out = [&](std::uint64_t) -> std::uint64_t {
    if (!shared_.options.inclusive_ranges) return 0;
    const RangeIndex parent = window_.parent[around_.back()];
    if (parent != kNone) around_.push_back(parent);
    return window_.key_of(parent);
  };
  const std::vector<std::uint64_t>& begun = streams_[stream].row.begin_ranges(window_.key_of(innermost), next_out);
  if (begun.empty()) return kNone;
  const std::uint32_t place = hold();
  held_[place].missing = static_cast<std::uint32_t>(begun.size());
  auto row = around_.begin();
  for (const std::uint64_t key : begun) {
    while (window_.keys[*row] != key) ++row;
    range_at(*row).begun.add({stream, place});
  }
  return place;
}

CaptureActivities::Range& CaptureActivities::range_at(RangeIndex row) {
  std::uint32_t& place = place_of_row_[row];
  if (place != kNone) return ranges_[place];
  const std::uint64_t key = window_.keys[row];
  if (window_.is_new(row)) {
    place = new_range(key);
    return ranges_[place];
  }
  place = earlier_places_.find(key);
  if (place == projection::FlatMap::kAbsent) {
    place = new_range(key);
    ranges_[place].is_earlier = true;
    earlier_places_.set(key, place);
  }
  return ranges_[place];
}

std::uint32_t CaptureActivities::new_range(std::uint64_t key) {
  if (free_ranges_.empty()) {
    free_ranges_.push_back(static_cast<std::uint32_t>(ranges_.size()));
    ranges_.emplace_back();
    range_keys_.push_back(0);
  }
  const std::uint32_t place = free_ranges_.back();
  free_ranges_.pop_back();
  range_keys_[place] = key;
  return place;
}

std::uint32_t CaptureActivities::hold() {
  if (free_held_.empty()) {
    free_held_.push_back(static_cast<std::uint32_t>(held_.size()));
    held_.emplace_back();
  }
  const std::uint32_t place = free_held_.back();
  free_held_.pop_back();
  held_[place].number = ++last_held_;
  return place;
}

void CaptureActivities::release(std::uint32_t place) {
  Held& held = held_[place];
  held.row = ActivityIndex(kNone);
  held.number = 0;
  held.earlier.reset();
  held.spans.clear();
  free_held_.push_back(place);
}

/// What waits beyond its window.
void CaptureActivities::keep_activities() {
  for (Held& held : held_) {
    if (held.number == 0 || held.row == kNone) continue;
    held.earlier = std::make_unique<EarlierActivity>(activity_of(held.row));
    held.row = ActivityIndex(kNone);
  }
}

void CaptureActivities::add_sums() {
  const bool inclusive = shared_.options.inclusive_ranges;
  for (std::size_t i = 0; i < window_.figures.size(); ++i) {
    const StreamFigures& figures = window_.figures[i];
    const std::uint32_t depth = window_.depth[figures.range];
    const bool nests = window_.nests(figures.range);
    if (inclusive && nests && depth >= kMaxSpanDepth) {
      const bool is_first = too_deep_.emplace(window_.key_of(figures.range), figures.stream).second;
      if (is_first) shared_.notes.add(ExportNotes::kDeepRange);
      continue;
    }
    Range& range = range_at(figures.range);
    range.head = window_.heads[i];
    range.depth = depth;
    range.nests = nests;
    Sum* const found = range.sums.find([&](const Sum& each) { return each.stream == figures.stream; });
    Sum& sum = found != nullptr ? *found : range.sums.add(Sum{figures.stream});
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
    if (window_.passes.empty())
      sum.passes[static_cast<std::size_t>(Pass::kForward)] += figures.gpu_sum_ns;
    else
      for (std::size_t pass = 0; pass < kPasses; ++pass) sum.passes[pass] += window_.passes[i][pass];
  }
}

void CaptureActivities::finish_ranges(const DeviceWindow* next) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> done;
  done.reserve(ranges_.size() - free_ranges_.size());
  for (std::uint32_t place = 0; place < ranges_.size(); ++place) {
    const std::uint64_t key = range_keys_[place];
    if (key == 0) continue;
    if (next == nullptr || !next->keeps(key)) {
      done.emplace_back(key, place);
    } else if (!ranges_[place].is_earlier) {
      ranges_[place].is_earlier = true;
      earlier_places_.set(key, place);
    }
  }
  std::sort(done.begin(), done.end(), std::greater<>());  // inner ones first
  for (const auto& [key, place] : done) {
    Range& range = ranges_[place];
    finish_range(key, range);
    if (range.is_earlier) earlier_places_.erase(key);
    range_keys_[place] = 0;
    range.is_earlier = false;
    range.sums.clear();
    range.begun.clear();
    free_ranges_.push_back(place);
  }
  for (Stream& stream : streams_) place_waiting(stream);
  if (next != nullptr) std::erase_if(too_deep_, [&](const auto& span) { return !next->keeps(span.first); });
}

void CaptureActivities::finish_range(std::uint64_t key, Range& range) {
  // Mostly its work is where it has begun, and it is the last one that is waited for there.
  const bool is_plain = range.nests && range.sums.is_one() && range.begun.is_one() &&
                        range.begun[0].stream == range.sums[0].stream && held_[range.begun[0].held].missing == 1;
  if (is_plain) {
    place_on_row({key, range.head, range.depth, range.sums[0]});
    write(held_[range.begun[0].held]);
    return release(range.begun[0].held);
  }
  for (std::size_t i = 0; i < range.sums.size(); ++i) {
    const Sum& sum = range.sums[i];
    const Span span{key, range.head, range.depth, sum};
    const Begun* const here = range.begun.find([&](const Begun& each) { return each.stream == sum.stream; });
    if (!range.nests)
      streams_[sum.stream].start_end_waiting.push_back(span);
    else if (here != nullptr)
      held_[here->held].spans.push_back(span);
    else
      place_on_row(span);
  }
  for (std::size_t i = 0; i < range.begun.size(); ++i) {
    const Begun& begun = range.begun[i];
    if (!range.nests) streams_[begun.stream].row.forget_range(key);
    if (--held_[begun.held].missing != 0) continue;
    write(held_[begun.held]);
    release(begun.held);
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
  writer.open_slice(activity.head, shared_.ids(activity.track), activity.begin_ns, activity.end_ns);
  if (!is_copy(activity.kind))
    write_kernel_arguments(writer, activity.place, activity.kernel, kernel_texts_);
  else
    write_copy_arguments(writer, activity.place, activity.copy, activity.bytes, activity.end_ns - activity.begin_ns);
  writer.close();
}

void CaptureActivities::write(const Held& held) {
  for (std::size_t i = held.spans.size(); i-- > 0;) place_on_row(held.spans[i]);
  if (held.row != kNone) write(activity_of(held.row));
  if (held.earlier != nullptr) write(held.earlier->activity);
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
  std::vector<const Held*> left;
  for (const Held& held : held_)
    if (held.number != 0) left.push_back(&held);
  std::sort(left.begin(), left.end(), [](const Held* a, const Held* b) { return a->number < b->number; });
  for (const Held* const held : left) write(*held);
  held_.clear();
  for (Stream& stream : streams_) place_waiting(stream);
}

}  // namespace rangefinder::chrome
