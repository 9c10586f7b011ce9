// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pass_split.hpp"
#include "session/session_core.hpp"
#include "support/catch.hpp"
#include "support/device_process.hpp"
#include "support/recording.hpp"

#include <rangefinder/detail/autograd.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <fake_cupti.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rangefinder::summary::testing {

using rangefinder::testing::DeviceProcess;
using rangefinder::testing::Recording;

/// A process that records its simulated device from the beginning; time moves when the test says so.
class SimulatedRecording : public DeviceProcess {
 public:
  explicit SimulatedRecording(CaptureMode mode = CaptureMode::kMapped) {
    stop_clock();
    fakecupti_add_stream(1, 13, 0);
    options.memory_bytes = 64 << 20;  // for all that a round holds back
    options.buffer_bytes = 64 << 10;
    session.mode = mode;
    begin();
  }
  /// Another recording of the same program, after the first.
  void begin_again() {
    recording_.reset();
    begin();
  }

  session::SessionCore& core() { return **recording_; }
  Timeline stop() { return recording_->stop(); }
  /// A kernel that begins `delay` from now.
  void launch(std::uint32_t stream, std::uint64_t delay, std::uint64_t duration) {
    FakeKernel kernel;
    kernel.stream = stream;
    kernel.begin_ns = fakecupti_now() + delay;
    kernel.end_ns = kernel.begin_ns + duration;
    fakecupti_launch("cudaLaunchKernel_v7000", &kernel);
  }

 private:
  void begin() {
    recording_.emplace(session, parts());
    REQUIRE((*recording_)->device().reason == "");
  }

  std::optional<Recording> recording_;
};

/// The same rows, from the capture and the projection of all of it.
inline std::map<std::string, SummaryRow> rows_of(const Timeline& timeline) {
  const Projection projection = project(timeline, {});
  const analysis::RangePassTimes times = analysis::pass_times_of_ranges(timeline, projection);
  std::vector<std::string> paths(timeline.ranges.size());
  std::map<std::string, SummaryRow> rows;
  std::set<std::string> before;
  // What encloses a range began before it; of ranges that are held for graphs the rows may be anywhere.
  const std::function<const std::string&(RangeIndex)> path_of = [&](RangeIndex row) -> const std::string& {
    const RangeIndex parent = projection.parent[row];
    if (paths[row].empty())
      paths[row] =
          (parent == kNone ? "" : path_of(parent) + "/") + std::string(timeline.text(timeline.ranges.name[row]));
    return paths[row];
  };
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row) {
    if (timeline.ranges.kind[row] != RangeKind::kAnnotation) continue;
    SummaryRow& out = rows[path_of(row)];
    if ((timeline.ranges.flags[row] & kBeforeRecording) != 0) before.insert(path_of(row));
    const DeviceFigures& figures = projection.inclusive[row];
    out.name = timeline.text(timeline.ranges.name[row]);
    out.depth = projection.depth[row];
    out.count += timeline.ranges.is_run(row) ? 1 : 0;
    out.host_ns += timeline.ranges.is_run(row) ? timeline.ranges.run_ns(row) : 0;
    out.gpu_ops += figures.gpu_ops;
    out.gpu_sum_ns += figures.gpu_sum_ns;
    out.gpu_busy_ns += figures.gpu_busy_ns;
    if (figures.gpu_ops != 0) out.gpu_span_ns += figures.gpu_span_ns();
    const auto of = [&](Pass pass) { return times.empty() ? 0 : times[row][static_cast<std::size_t>(pass)]; };
    out.gpu_forward_ns += times.empty() ? figures.gpu_sum_ns : of(Pass::kForward);
    out.gpu_backward_ns += of(Pass::kBackward);
    out.gpu_recompute_ns += of(Pass::kRecompute);
    out.gpu_accumulation_ns += of(Pass::kAccumulation);
  }
  // A request that was suspended on one path and went on on another counts on the second one.
  std::erase_if(rows, [&](const auto& row) {
    return row.second.count == 0 && (row.second.gpu_ops == 0 || before.count(row.first) == 0);
  });
  return rows;
}

/// Gives the figures of all rows, added up.
inline SummaryRow compare_rows(const Summary& summary, const Timeline& timeline) {
  const std::map<std::string, SummaryRow> want = rows_of(timeline);
  for (const SummaryRow& row : summary.rows) {
    INFO(row.path);
    CHECK(want.count(row.path) == 1);
  }
  SummaryRow seen;
  for (const auto& [path, row] : want) {
    INFO(path);
    const SummaryRow* const have = summary.find(path);
    REQUIRE(have != nullptr);
    CHECK(have->name == row.name);
    CHECK(have->depth == row.depth);
    CHECK(have->count == row.count);
    CHECK(have->host_ns == row.host_ns);
    CHECK(have->gpu_ops == row.gpu_ops);
    CHECK(have->gpu_sum_ns == row.gpu_sum_ns);
    CHECK(have->gpu_busy_ns == row.gpu_busy_ns);
    CHECK(have->gpu_span_ns == row.gpu_span_ns);
    CHECK(have->gpu_forward_ns == row.gpu_forward_ns);
    CHECK(have->gpu_backward_ns == row.gpu_backward_ns);
    CHECK(have->gpu_recompute_ns == row.gpu_recompute_ns);
    CHECK(have->gpu_accumulation_ns == row.gpu_accumulation_ns);
    for (const auto figure : {&SummaryRow::gpu_forward_ns, &SummaryRow::gpu_backward_ns, &SummaryRow::gpu_recompute_ns,
                              &SummaryRow::gpu_accumulation_ns})
      seen.*figure += row.*figure;
  }
  const Projection projection = project(timeline, {});
  CHECK(summary.gpu_total_ns == projection.account.total.gpu_sum_ns);
  CHECK(summary.gpu_owned_ns == projection.account.owned.gpu_sum_ns);
  return seen;
}

inline SummaryRow compare(const Summary& summary, const Timeline& timeline) {
  SummaryRow seen = compare_rows(summary, timeline);
  CHECK(summary.steps == timeline.steps.size());
  std::int64_t step_ns = 0;
  for (std::size_t i = 0; i < timeline.steps.size(); ++i)
    step_ns += timeline.steps.end_ns[i] - timeline.steps.begin_ns[i];
  CHECK(summary.step_ns == step_ns);
  CHECK(summary.pending_launches == 0);
  CHECK(summary.health.complete());
  return seen;
}

inline thread_local std::uint64_t next_number = 0;
inline thread_local std::uint64_t thread_number = 0;

/// While it lives, the recorder knows of an autograd: numbers a thread.
struct Numbering {
  Numbering() {
    static constexpr detail::AutogradHooks kHooks{[] { return next_number; }, [] { return thread_number; }};
    next_number = 0;
    thread_number = 1;
    detail::set_autograd_hooks(&kHooks);
  }
  ~Numbering() { detail::set_autograd_hooks(nullptr); }
};

}  // namespace rangefinder::summary::testing
