// SPDX-License-Identifier: MIT
#include "summary/live_summary.hpp"

#include "buffer/name_table.hpp"
#include "format/chunk.hpp"
#include "format/node_note.hpp"
#include "session/options.hpp"
#include "session/session_core.hpp"
#include "session/session_impl.hpp"
#include "timeline/graph_launch.hpp"

#include <algorithm>
#include <exception>

namespace rangefinder::summary {
namespace {

using format::ChunkKind;

// Launches that have brought nothing for so long bring nothing at all (a copy of no bytes, a call that failed).
constexpr std::int64_t kSettleNs = 60'000'000'000;
constexpr std::size_t kMaxClockPoints = 128;
constexpr std::size_t kNewestPoints = 32;

// Tags of ranges: over when the recording began, here since a CUDA graph was captured in it; suspended, and not over.
constexpr std::uint64_t kBefore = 1;
constexpr std::uint64_t kSuspended = 2;

std::vector<clock::ClockPoint> first_point(session::SessionCore& core) { return {core.clock().sample()}; }

}  // namespace

LiveSummary::LiveSummary(session::SessionCore& core)
    : core_(core),
      clock_points_(first_point(core)),
      clock_(clock_points_, core.clock().ticks_per_second()),
      projector_(*this) {}

/// A program may ask after each step of a year. Old points matter less than new ones: every second of them goes.
void LiveSummary::refresh_clock() {
  clock_points_.push_back(core_.clock().sample());
  if (clock_points_.size() > kMaxClockPoints) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < clock_points_.size(); ++i)
      if (i % 2 == 0 || i + kNewestPoints >= clock_points_.size()) clock_points_[kept++] = clock_points_[i];
    clock_points_.resize(kept);
  }
  clock_ = clock::ClockTable(clock_points_, core_.clock().ticks_per_second());
}

Summary LiveSummary::update() {
  const std::uint64_t begun = core_.clock().ticks();
  const bool flushed = core_.flush().ok();
  refresh_clock();
  // A disk that does not answer was waited for: the figures are then those of before.
  const auto deadline =
      std::chrono::steady_clock::now() + (flushed ? core_.options().stop_timeout : std::chrono::milliseconds(0));
  (void)core_.writer().with_output(deadline, [&](session::ChunkOutput& output) {
    (void)output.read_since(cursor_,
                            [&](const format::ChunkHeader& header, base::ByteView payload) { take(header, payload); });
  });
  place_graphs();
  complete_graphs();
  // What is launched later begins later, and so does what has been launched and not come.
  sites_.end_update(std::min(clock_.monotonic_of_ticks(begun), projector_.oldest_pending_ns()));
  const std::int64_t now = clock_.monotonic_of_ticks(core_.clock().ticks());
  projector_.settle(now - kSettleNs);
  passes_.settle(!core_.running());
  Summary summary;
  summary.rows = totals_.rows();
  summary.steps = steps_;
  summary.step_ns = step_ns_;
  add_percentiles(summary);
  summary.items = items_;
  summary.items_ns = items_ns_;
  summary.gpu_total_ns = projector_.account().total.gpu_sum_ns;
  summary.gpu_owned_ns = projector_.account().owned.gpu_sum_ns;
  summary.pending_launches = projector_.pending_launches();
  summary.health = core_.health();
  summary.health.damaged_chunks += unread_;
  summary.device = core_.device();
  return summary;
}

void LiveSummary::place_graphs() {
  for (auto& [node, activity] : of_graphs_) {
    // What the node was when its graph was launched: an update may have come while it ran.
    const std::int64_t launched = projector_.launch_time(activity.correlation);
    activity.tag = sites_.tag_of(node, launched != kNoTime ? launched : activity.begin_ns, clock_.error_bound_ns());
    replays_[activity.correlation] = updates_;
    projector_.activity(activity);
  }
  of_graphs_.clear();
}

void LiveSummary::complete_graphs() {
  // A launch that made a node of a graph brings nothing itself. Sources are flushed first, so it is known by now.
  for (const std::uint64_t correlation : captured_) projector_.complete(correlation);
  captured_.clear();
  // How many operations a replay has is not known: no more come once an update has brought none.
  std::erase_if(replays_, [this](const auto& replay) {
    const bool done = replay.second < updates_ || !core_.running();
    if (done) projector_.complete(replay.first);
    return done;
  });
  ++updates_;
}

void LiveSummary::take(const format::ChunkHeader& header, base::ByteView payload) {
  switch (static_cast<ChunkKind>(header.kind)) {
    case ChunkKind::kHostEvents: {
      const Result<format::HostEvents> events = format::unpack_host_events(payload, header, columns_);
      if (events.ok())
        assembler_.feed(*events);
      else
        ++unread_;
      return;
    }
    case ChunkKind::kThreads:
      return take_threads(header, payload);
    case ChunkKind::kKernels:
      return take_activities<format::KernelRow>(header, payload);
    case ChunkKind::kMemcpys:
      return take_activities<format::MemcpyRow>(header, payload);
    case ChunkKind::kMemsets:
      return take_activities<format::MemsetRow>(header, payload);
    case ChunkKind::kGraphLaunches:
      return take_activities<format::GraphLaunchRow>(header, payload);
    case ChunkKind::kGraphNodes:
      return take_graph_nodes(header, payload);
    default:
      return;
  }
}

void LiveSummary::take_graph_nodes(const format::ChunkHeader& header, base::ByteView payload) {
  const Result<std::vector<format::GraphNodeRow>> rows =
      format::unpack_rows<format::GraphNodeRow>(payload, header.rows, columns_);
  if (!rows.ok()) return (void)++unread_;
  for (const format::GraphNodeRow& row : *rows) {
    if ((row.flags & format::kGraphNodeGone) != 0) {
      sites_.remove_node(row.node, device_time(row.time_ns));
      continue;
    }
    if (row.correlation != 0) captured_.push_back(row.correlation);
    sites_.add_node(row.node, device_time(row.time_ns), format::maker_key(row.correlation, row.note));
  }
}

void LiveSummary::take_threads(const format::ChunkHeader& header, base::ByteView payload) {
  const Result<std::vector<format::ThreadRow>> rows =
      format::unpack_rows<format::ThreadRow>(payload, header.rows, columns_);
  if (!rows.ok()) return (void)++unread_;
  for (const format::ThreadRow& row : *rows) passes_.name_thread(row.index, buffer::names().text(row.name));
}

template <typename Row>
void LiveSummary::take_activities(const format::ChunkHeader& header, base::ByteView payload) {
  const Result<std::vector<Row>> rows = format::unpack_rows<Row>(payload, header.rows, columns_);
  if (!rows.ok()) return (void)++unread_;
  for (const Row& row : *rows) {
    projection::StreamingActivity activity;
    activity.correlation = row.correlation;
    activity.place.device = row.device;
    activity.place.stream = (std::uint64_t{row.context} << 32) | row.stream;
    activity.begin_ns = device_time(row.begin_ns);
    activity.end_ns = activity.begin_ns + (row.end_ns - row.begin_ns);
    if constexpr (requires { row.bytes; }) activity.bytes = row.bytes;
    if constexpr (requires { row.graph_node; }) {
      if (row.graph_node != 0) {
        of_graphs_.emplace_back(row.graph_node, activity);  // until the update's nodes are known
        continue;
      }
    } else {
      replays_[row.correlation] = updates_;  // a launch of a graph as a whole
    }
    projector_.activity(activity);
  }
}

std::uint64_t LiveSummary::annotation_of(std::uint64_t key) const noexcept {
  const auto found = operator_owner_.find(key);
  return found == operator_owner_.end() ? key : found->second;
}

/// `range` and `scoped` as a launch has them.
PassTotals::Site LiveSummary::site_of(std::uint64_t range, std::uint64_t scoped) const noexcept {
  const std::uint64_t innermost = annotation_of(range);
  // An operator does not count as a range of its own: the range around it does, however long it has been open.
  const std::uint64_t decides = innermost == range ? range : annotation_of(scoped);
  return {totals_.path(innermost), totals_.begin_ns(decides)};
}

void LiveSummary::on_begin(const importer::AssembledRange& range) {
  constexpr std::uint32_t kOperators = 1;
  if (range.category == kOperators) {
    operator_owner_[range.key] = annotation_of(range.parent);
    return;
  }
  const std::uint64_t parent = annotation_of(range.parent);
  totals_.begin(range.key, parent, range.name, host_time(range.begin_ticks));
  projection::StreamingRange begun;
  begun.key = range.key;
  begun.parent = parent;
  begun.begin_ns = host_time(range.begin_ticks);
  begun.thread = range.thread;
  begun.start_end = range.start_end;
  projector_.begin_range(begun);
}

void LiveSummary::on_range(const importer::AssembledRange& range) {
  if (operator_owner_.erase(range.key) != 0) return;
  projection::StreamingRange ended;
  ended.key = range.key;
  ended.parent = annotation_of(range.parent);
  ended.begin_ns = host_time(range.begin_ticks);
  ended.end_ns = host_time(range.end_ticks);
  ended.thread = range.thread;
  ended.start_end = range.start_end;
  ended.ended_elsewhere = range.ended_elsewhere;
  const std::uint64_t start = core_.start_ticks();
  if (range.suspended) ended.tag = kSuspended;
  if (range.begin_ticks < start && range.end_ticks <= start) ended.tag = kBefore;
  if (range.resumed && !range.suspended) waited_ns_[range.key] = ended.begin_ns - host_time(range.instance_begin_ticks);
  projector_.end_range(ended);
}

void LiveSummary::on_launch(const importer::AssembledLaunch& launch) {
  const std::uint64_t tag = passes_.launch(launch.thread, site_of(launch.range, launch.scoped));
  sites_.add_launch(launch.correlation, tag);
  if (launch.callback == format::kNodeNote) return;  // causes nothing itself
  projection::StreamingLaunch note;
  note.correlation = launch.correlation;
  note.time_ns = host_time(launch.ticks);
  note.thread = launch.thread;
  note.range = annotation_of(launch.range);
  note.scoped = annotation_of(launch.scoped);
  note.tag = tag;
  if (timeline::is_graph_launch(launch.callback)) note.activities = 0;  // not known
  projector_.launch(note);
}

void LiveSummary::on_sequence(const importer::AssembledSequence& sequence) {
  PassTotals::Site site = site_of(sequence.range, sequence.scoped);
  site.range_began_ns = totals_.begin_ns(annotation_of(sequence.scoped));
  passes_.take_numbers(sequence, site);
}

void LiveSummary::on_node_begin(const importer::AssembledNode& node) {
  passes_.begin_node(node, host_time(node.begin_ticks));
}

void LiveSummary::on_node_number(std::uint32_t thread, std::int64_t sequence) { passes_.number_node(thread, sequence); }

void LiveSummary::on_node(const importer::AssembledNode& node) { passes_.end_node(node.thread); }

void LiveSummary::on_joined(const projection::StreamingLaunch& launch, const projection::StreamingActivity& activity) {
  // Where its node was made, by attribution `capture`.
  passes_.activity(activity.tag, launch.tag, projection::Interval(activity.begin_ns, activity.end_ns).length());
}

void LiveSummary::on_step(const importer::AssembledStep& step) {
  if (last_step_.recorded && step.number == last_step_.number + 1) {
    const std::int64_t time = host_time(step.ticks) - host_time(last_step_.ticks);
    step_ns_ += time;
    if (last_steps_.size() < Summary::kStepsOfPercentiles)
      last_steps_.push_back(time);
    else
      last_steps_[steps_ % Summary::kStepsOfPercentiles] = time;
    ++steps_;
    last_finished_ns_ = time;
  } else {
    last_finished_ns_ = -1;
  }
  last_step_ = {step.number, step.ticks, step.recorded};
}

void LiveSummary::on_step_items(std::uint32_t, std::uint64_t items) {
  if (last_finished_ns_ < 0) return;  // of a step that was not recorded
  items_ += items;
  items_ns_ += last_finished_ns_;
}

void LiveSummary::add_percentiles(Summary& summary) const {
  if (last_steps_.empty()) return;
  std::vector<std::int64_t> times = last_steps_;
  const auto at = [&](std::size_t percent) {  // by nearest rank
    const auto place = times.begin() + static_cast<std::ptrdiff_t>((times.size() * percent + 99) / 100 - 1);
    std::nth_element(times.begin(), place, times.end());
    return *place;
  };
  summary.step_p50_ns = at(50);
  summary.step_p95_ns = at(95);
  summary.step_p99_ns = at(99);
}

void LiveSummary::on_projected(const projection::ProjectedRange& projected) {
  if (SummaryRow* row = totals_.row(projected.range.key); row != nullptr && projected.range.tag == kBefore) {
    totals_.note_before(projected.range.key);
  } else if (row != nullptr && !projected.never_ended) {
    if (projected.range.tag != kSuspended) {
      row->count += 1;
      row->host_ns += projected.range.end_ns - projected.range.begin_ns;
    }
    if (const auto waited = waited_ns_.find(projected.range.key); waited != waited_ns_.end()) {
      row->host_ns += waited->second;
      waited_ns_.erase(waited);
    }
    const auto& figures = projected.inclusive.total;
    row->gpu_ops += figures.gpu_ops;
    row->gpu_sum_ns += figures.gpu_sum_ns;
    row->gpu_busy_ns += figures.gpu_busy_ns;
    if (figures.gpu_ops != 0) row->gpu_span_ns += figures.gpu_span_ns();
  }
  totals_.forget(projected.range.key);
}

}  // namespace rangefinder::summary

namespace rangefinder {

Summary Session::summary() noexcept try {
  if (impl_ == nullptr || !impl_->started() || impl_->in_child()) return {};
  const std::lock_guard lock(impl_->summary_mutex);
  // Of a series, that of the last recording stays known until there is another.
  const std::shared_ptr<session::SessionCore> recording = impl_->recording();
  if (recording != nullptr && recording != impl_->summary_of && recording->running()) {
    impl_->summary = std::make_shared<summary::LiveSummary>(*recording);
    impl_->summary_of = recording;
  }
  if (impl_->summary == nullptr) return {};
  try {
    return impl_->summary->update();
  } catch (const std::exception&) {  // no memory: the next call counts anew, from the beginning
    impl_->summary.reset();
    impl_->summary_of.reset();
    throw;
  }
} catch (const std::exception&) {
  Summary none;
  none.device.reason = session::no_memory().message();
  return none;
}

}  // namespace rangefinder
