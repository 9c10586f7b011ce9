// SPDX-License-Identifier: MIT
#include "summary/live_summary.hpp"

#include "analysis/pass_split.hpp"
#include "projection/project.hpp"
#include "projection/split_graph_launches.hpp"
#include "session/options.hpp"
#include "session/session_core.hpp"
#include "session/session_impl.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>

namespace rangefinder::summary {

LiveSummary::LiveSummary(session::SessionCore& core, std::size_t window_rows)
    : core_(core),
      window_rows_(window_rows),
      facts_(core),
      loader_(facts_, timeline_, no_shift_, load_options_, steps_) {
  timeline_.format = InputFormat::kCapture;
  timeline_.range_end = RangeEnd::kOpen;
  loader_.begin(core.options().graph_tracing != GraphTracing::kNodes);
}

Summary LiveSummary::update() {
  // What ends while this call works is left to the next one: of what happened before it, all threads have told by then.
  const std::uint64_t begun = core_.clock().ticks();
  const bool flushed = core_.flush().ok();
  // A disk that does not answer was waited for: the figures are then those of before.
  const auto deadline =
      std::chrono::steady_clock::now() + (flushed ? core_.options().stop_timeout : std::chrono::milliseconds(0));
  const std::uint64_t until = core_.running() ? begun : Arrivals::kAll;
  (void)core_.writer().with_output(deadline, [&](session::ChunkOutput& output) { read(output, until); });
  Summary summary;
  summary.rows = totals_.rows();
  steps_.write(summary);
  summary.gpu_total_ns = gpu_total_ns_;
  summary.gpu_owned_ns = gpu_owned_ns_;
  summary.pending_launches = loader_.silent_launches();
  summary.health = core_.health();
  summary.health.damaged_chunks += unread_;
  summary.device = core_.device();
  return summary;
}

void LiveSummary::read(const session::ChunkOutput& output, std::uint64_t ticks) {
  const auto take = [this](const format::ChunkHeader& header, base::ByteView payload) {
    unread_ += arrivals_.take(header, payload) ? 0 : 1;
    return true;
  };
  for (bool is_last = false; !is_last;) {
    // Launches stand far behind their activities where a thread writes little: host events are read ahead.
    is_last = true;
    (void)output.read_since(host_cursor_, [&](const format::ChunkHeader& header, base::ByteView payload) {
      if (Arrivals::is_of_device(header)) return true;
      is_last = arrivals_.fresh_events() < window_rows_;
      return is_last && take(header, payload);
    });
    const std::int64_t time_ns = arrivals_.deliver_host(loader_, is_last ? ticks : arrivals_.all_came_by());
    (void)output.read_since(device_cursor_, [&](const format::ChunkHeader& header, base::ByteView payload) {
      if (!Arrivals::is_of_device(header)) return true;
      if (arrivals_.is_later(header)) return false;
      if (arrivals_.fresh_activities() >= window_rows_) take_window(arrivals_.newest_activity_ns());
      return take(header, payload);
    });
    take_window(is_last ? time_ns : arrivals_.newest_activity_ns());
  }
  arrivals_.forget_threads();  // all have been flushed
}

void LiveSummary::take_window(std::int64_t device_ns) {
  arrivals_.deliver_device(loader_);
  timeline_.clock_error_ns = facts_.clock().error_bound_ns();
  loader_.close_window();
  const ProjectionOptions by{Attribution::kAuto, true, false};
  projection::split_graph_launches_of_window(timeline_, loader_.activity_rows(), by);
  add_figures(projection::project_without_streams(timeline_, by));
  timeline_.notes.clear();
  timeline_.conditional_graphs.clear();
  loader_.next_window(device_ns);
  if (device_ns > std::numeric_limits<std::int64_t>::min() + timeline_.clock_error_ns)
    instances_.settle(std::min(device_ns, loader_.oldest_waiting_ns()) - timeline_.clock_error_ns);
  instances_.forget([this](std::uint64_t key) { return loader_.keeps(key); });
}

std::uint32_t LiveSummary::path_of(RangeIndex row, const Projection& projection) {
  std::vector<RangeIndex> chain;  // outer ones last
  for (; row != kNone && paths_[row] == 0; row = projection.parent[row]) chain.push_back(row);
  std::uint32_t path = row == kNone ? 0 : paths_[row];
  for (; !chain.empty(); chain.pop_back()) {
    const StringId name = timeline_.ranges.name[chain.back()];
    path = paths_[chain.back()] = totals_.path(path, name, timeline_.text(name));
  }
  return path;
}

void LiveSummary::add_host_figures(RangeIndex range, std::uint32_t path) {
  if (loader_.is_open(range)) return;
  const RangeTable& ranges = timeline_.ranges;
  if ((ranges.flags[range] & kBeforeRecording) != 0) totals_.note_before(path);
  if (!ranges.is_run(range)) return;
  SummaryRow& row = totals_.row(path);
  row.count += 1;
  row.host_ns += ranges.run_ns(range);
}

void LiveSummary::add_figures(const Projection& projection) {
  gpu_total_ns_ += projection.account.total.gpu_sum_ns;
  gpu_owned_ns_ += projection.account.owned.gpu_sum_ns;
  const RangeTable& ranges = timeline_.ranges;
  const analysis::RangePassTimes passes = analysis::pass_times_of_ranges(timeline_, projection);
  const std::vector<projection::RangeInstances::Added> added =
      instances_.add(timeline_, projection, [this](RangeIndex row) { return loader_.key_of(row); });
  paths_.assign(ranges.size(), 0);
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    const DeviceFigures& figures = projection.inclusive[range];
    const bool is_own = range < loader_.range_rows();
    if (ranges.kind[range] != RangeKind::kAnnotation || (!is_own && figures.gpu_ops == 0)) continue;
    const std::uint32_t path = path_of(range, projection);
    if (is_own) add_host_figures(range, path);
    if (figures.gpu_ops == 0) continue;
    SummaryRow& row = totals_.row(path);
    row.gpu_ops += figures.gpu_ops;
    row.gpu_sum_ns += figures.gpu_sum_ns;
    row.gpu_busy_ns += added[range].busy_ns;
    row.gpu_span_ns += added[range].span_ns;
    const auto of = [&](Pass pass) { return passes[range][static_cast<std::size_t>(pass)]; };
    row.gpu_forward_ns += passes.empty() ? figures.gpu_sum_ns : of(Pass::kForward);
    if (passes.empty()) continue;  // no node ran
    row.gpu_backward_ns += of(Pass::kBackward);
    row.gpu_recompute_ns += of(Pass::kRecompute);
    row.gpu_accumulation_ns += of(Pass::kAccumulation);
  }
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
