// SPDX-License-Identifier: MIT
#include "report/windowed_report.hpp"

#include "analysis/attribution_totals.hpp"
#include "analysis/blocked_times.hpp"
#include "analysis/profiling_cost.hpp"
#include "analysis/range_rollup.hpp"
#include "analysis/recording_totals.hpp"
#include "base/text.hpp"
#include "importer/capture/capture_windows.hpp"
#include "projection/project.hpp"
#include "projection/range_instances.hpp"
#include "projection/split_graph_launches.hpp"
#include "projection/window_rows.hpp"
#include "report/find_column.hpp"
#include "report/nsight/sums.hpp"
#include "report/projected_timeline.hpp"
#include "report/range_report.hpp"
#include "report/rendering.hpp"
#include "report/table_order.hpp"
#include "report/top_rows.hpp"
#include "report/views/call_totals.hpp"
#include "report/views/instances.hpp"
#include "report/views/launches.hpp"
#include "report/views/operation_totals.hpp"
#include "report/views/path_rows.hpp"
#include "timeline/finish.hpp"
#include "timeline/memory_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::report {
namespace {

using importer::CaptureWindows;
using importer::RangeEnds;
using projection::WindowRows;

struct ReportWindow {
  const WindowRows& rows;
  const projection::Members& members;
  const ProjectedTimeline& projected;
};

/// What a view makes of windows.
class ViewTotals {
 public:
  virtual ~ViewTotals() = default;
  /// Whether it asks for the members of a window's projection, which cost time where ranges overlap.
  virtual bool uses_members() const noexcept { return false; }
  virtual Status add(const ReportWindow& window) = 0;
  /// Once, behind the last window.
  virtual Result<Table> table(const RangeReport& report) = 0;
  /// Behind that: the groups of the overview.
  virtual const analysis::RangeGroups& by_name() const {
    static const analysis::RangeGroups none;
    return none;
  }
  /// What windows did not find out, and a loaded timeline would have.
  virtual void add_notes(std::vector<std::string>&) const {}
  virtual std::uint64_t memory_bytes() const noexcept = 0;
};

/// What windows add to the busy times of ranges.
class WindowedBusyTimes {
 public:
  explicit WindowedBusyTimes(const CaptureWindows& windows) : windows_(windows) {}

  /// Empty where the window has no activities.
  std::vector<projection::RangeInstances::Added> add(const ReportWindow& window) {
    const WindowRows& rows = window.rows;
    instances_.forget([this](std::uint64_t key) { return windows_.keeps(key); });
    std::vector<projection::RangeInstances::Added> added;
    const auto key_of = [&](RangeIndex range) { return rows.key(range); };
    if (rows.timeline.activities.size() != 0)
      added = instances_.add(rows.timeline, rows.projection, key_of, window.members);
    instances_.settle(rows.time_ns);
    return added;
  }
  void add_notes(std::vector<std::string>& notes) const {
    if (!instances_.is_exact())
      notes.emplace_back(
          "the recording is long and ranges nest deep, or many overlap: GPU busy and GPU self count work twice that "
          "runs beside other work where a window of reading ends");
  }

 private:
  const CaptureWindows& windows_;
  projection::RangeInstances instances_{projection::RangeInstances::Figures::kAll};
};

/// `ranges` and `tree`.
class RangeTotals final : public ViewTotals {
 public:
  RangeTotals(const CaptureWindows& windows, const ViewOptions& options, analysis::GroupBy group_by,
              const WindowSizes& sizes)
      : busy_(windows),
        by_path_(group_by == analysis::GroupBy::kPath),
        rollup_({.projection = options.projection,
                 .group_by = group_by,
                 .folding = by_path_ ? common::folding_of(options) : analysis::Folding(),
                 .most_lengths = sizes.lengths}),
        payloads_(options.projection) {}

  bool uses_members() const noexcept override { return true; }
  Status add(const ReportWindow& window) override {
    rollup_.add(window.rows, busy_.add(window));
    payloads_.add(window.rows);
    return {};
  }
  Result<Table> table(const RangeReport& report) override {
    if (by_path_) return table_of_paths(report, std::move(rollup_).tree());
    by_name_ = std::move(rollup_).groups();
    return table_of_names(report, by_name_, payloads_);
  }
  const analysis::RangeGroups& by_name() const override { return by_name_; }
  std::uint64_t memory_bytes() const noexcept override { return rollup_.memory_bytes(); }

  void add_notes(std::vector<std::string>& notes) const override {
    if (!rollup_.has_exact_spreads())
      notes.push_back("the recording is long: medians and p95 are exact to " + rollup_.precision());
    busy_.add_notes(notes);
  }

 private:
  WindowedBusyTimes busy_;
  bool by_path_;
  analysis::RangeRollup rollup_;
  common::PayloadStatistics payloads_;
  analysis::RangeGroups by_name_;
};

/// `ranges --instances --top N`.
class WindowedInstances final : public ViewTotals {
 public:
  WindowedInstances(const CaptureWindows& windows, const ViewOptions& options)
      : windows_(windows), options_(options), busy_(windows) {}

  bool uses_members() const noexcept override { return true; }
  Status add(const ReportWindow& window) override {
    if (!rows_) rows_.emplace(window.rows.timeline, options_);
    Status status =
        rows_->add(window.rows, busy_.add(window), [this](std::uint64_t key) { return windows_.keeps(key); });
    return status.ok() ? Status() : std::move(status).error().with_context("ranges");
  }
  Result<Table> table(const RangeReport& report) override { return rows_->table(report); }
  void add_notes(std::vector<std::string>& notes) const override { busy_.add_notes(notes); }
  std::uint64_t memory_bytes() const noexcept override { return rows_->memory_bytes(); }

 private:
  const CaptureWindows& windows_;
  const ViewOptions& options_;
  WindowedBusyTimes busy_;
  std::optional<TopInstances> rows_;  // since the first window
};

/// `kernels` and `memcpy`.
class WindowedOperations final : public ViewTotals {
 public:
  explicit WindowedOperations(OperationTotals::Kind kind) : totals_(kind) {}

  Status add(const ReportWindow& window) override {
    totals_.add(window.rows.timeline, window.rows.projection);
    return {};
  }
  Result<Table> table(const RangeReport& report) override { return totals_.table(report); }
  std::uint64_t memory_bytes() const noexcept override { return totals_.memory_bytes(); }

 private:
  OperationTotals totals_;
};

/// `api`.
class WindowedCalls final : public ViewTotals {
 public:
  explicit WindowedCalls(const CaptureWindows& windows) : windows_(windows) {}

  Status add(const ReportWindow& window) override {
    totals_.add(window.rows.timeline.calls, windows_.call_rows());
    return {};
  }
  Result<Table> table(const RangeReport& report) override { return totals_.table(report.timeline); }
  std::uint64_t memory_bytes() const noexcept override { return totals_.memory_bytes(); }

 private:
  const CaptureWindows& windows_;
  CallTotals totals_;
};

/// `launches`.
class WindowedLaunches final : public ViewTotals {
 public:
  explicit WindowedLaunches(const WindowSizes& sizes) : configurations_(sizes.lengths) {}

  Status add(const ReportWindow& window) override {
    configurations_.add(window.rows.timeline);
    return {};
  }
  Result<Table> table(const RangeReport& report) override {
    return table_of_launches(report.timeline, configurations_);
  }
  void add_notes(std::vector<std::string>& notes) const override {
    if (!configurations_.is_exact())
      notes.push_back("the recording is long: medians are exact to " + configurations_.precision());
  }
  std::uint64_t memory_bytes() const noexcept override { return configurations_.memory_bytes(); }

 private:
  analysis::LaunchConfigurations configurations_;
};

/// Views under Nsight's names that add up by name.
class WindowedSums final : public ViewTotals {
 public:
  WindowedSums(const CaptureWindows& windows, const View& view, const ViewOptions& options, const WindowSizes& sizes)
      : windows_(windows), view_(view), options_(options), most_kept_(sizes.lengths) {}

  Status add(const ReportWindow& window) override {
    const WindowRows& rows = window.rows;
    if (sums_ == nullptr) sums_ = nsight::make_sums(view_.name, rows.timeline, options_, most_kept_);
    return sums_->add({.own_calls = windows_.call_rows(),
                       .ends_here = [&](RangeIndex range) { return rows.ends_here(range); },
                       .key_of = [&](RangeIndex range) { return rows.key(range); },
                       .is_kept = [&](std::uint64_t key) { return windows_.keeps(key); },
                       .has_brought_before = [&](LaunchIndex launch) { return windows_.has_brought_before(launch); },
                       .is_last = rows.is_last});
  }
  Result<Table> table(const RangeReport&) override { return sums_->table(); }
  void add_notes(std::vector<std::string>& notes) const override {
    if (!sums_->is_exact()) notes.push_back("the recording is long: medians are exact to " + sums_->precision());
  }
  std::uint64_t memory_bytes() const noexcept override { return sums_->memory_bytes(); }

 private:
  const CaptureWindows& windows_;
  const View& view_;
  const ViewOptions& options_;
  std::size_t most_kept_;
  std::unique_ptr<nsight::Sums> sums_;  // since the first window
};

/// Views with a row for each activity or call.
class WindowedList final : public ViewTotals {
 public:
  WindowedList(const View& view, const ViewOptions& options) : view_(view), options_(options), rows_(options) {}

  Status add(const ReportWindow& window) override {
    Result<Table> table = view_.make(window.projected, options_);
    if (!table) return std::move(table).error();
    Status status = rows_.add(std::move(*table));
    return status.ok() ? Status() : std::move(status).error().with_context(view_.name);
  }
  Result<Table> table(const RangeReport&) override { return rows_.take(); }
  std::uint64_t memory_bytes() const noexcept override { return rows_.memory_bytes(); }

 private:
  const View& view_;
  const ViewOptions& options_;
  TopRows rows_;
};

/// A window has all that a row of these is made of.
bool is_list(const View& view, const ViewOptions& options) noexcept {
  return view.name == "cuda_gpu_trace" || view.name == "cuda_api_trace" ||
         (options.instances && (view.name == "kernels" || view.name == "memcpy" || view.name == "api"));
}

std::unique_ptr<ViewTotals> totals_of(const View& view, const CaptureWindows& windows, const ViewOptions& options,
                                      const WindowSizes& sizes) {
  if (is_list(view, options)) return std::make_unique<WindowedList>(view, options);
  if (nsight::has_sums(view.name)) return std::make_unique<WindowedSums>(windows, view, options, sizes);
  if (view.name == "ranges" && options.instances) return std::make_unique<WindowedInstances>(windows, options);
  if (view.name == "kernels") return std::make_unique<WindowedOperations>(OperationTotals::Kind::kKernels);
  if (view.name == "memcpy") return std::make_unique<WindowedOperations>(OperationTotals::Kind::kCopies);
  if (view.name == "api") return std::make_unique<WindowedCalls>(windows);
  if (view.name == "launches") return std::make_unique<WindowedLaunches>(sizes);
  const auto group_by = view.name == "tree" ? analysis::GroupBy::kPath : analysis::GroupBy::kName;
  return std::make_unique<RangeTotals>(windows, options, group_by, sizes);
}

/// Adds windows up to a report.
class WindowedReport {
 public:
  WindowedReport(capture::CaptureReader& reader, const LoadOptions& load, const View& view, const ViewOptions& options,
                 const WindowSizes& sizes, const RangeEnds* known_ends, RangeEnds* found_ends)
      : reader_(reader),
        load_(load),
        view_(view),
        options_(options),
        bound_(load),
        windows_(reader, window_options(sizes, known_ends, found_ends)),
        view_totals_(totals_of(view, windows_, options, sizes)),
        totals_(options.projection) {}

  /// False: nothing was written, as the report needs the ends of ranges, which are known now.
  Result<bool> write(const Sink& sink) {
    windows_.run([this](Timeline& window, bool is_last) {
      window_ = &window;
      if (status_.ok() && windows_.knows_ends()) take(window, is_last);
    });
    if (Status status = reader_.file_status(); !status.ok()) return std::move(status).error();
    if (!windows_.knows_ends()) return false;
    if (!status_.ok()) return std::move(status_).error();
    if (load_.strict && !window_->health.complete())
      return Error(ErrorCode::kIncomplete, reader_.path() + ": the recording is incomplete; see `rangefinder check`");
    extent_.write(*window_);
    if (Status status = render(sink); !status.ok()) return std::move(status).error();
    return true;
  }

 private:
  CaptureWindows::Options window_options(const WindowSizes& sizes, const RangeEnds* known_ends,
                                         RangeEnds* found_ends) const {
    return {.events = sizes.rows,
            .progress = importer::progress_of(load_),
            .known_ends = known_ends,
            .found_ends = found_ends,
            .launch_calls = view_.name == "launches" || nsight::needs_launch_calls(view_.name, options_)};
  }

  void take(Timeline& window, bool is_last) {
    if (view_.compatible)
      window.activities.cut_to(windows_.activity_rows());
    else
      projection::split_graph_launches_of_window(window, windows_.activity_rows(), options_.projection);
    projection::Members members;
    projection::Members* const wanted = view_totals_->uses_members() ? &members : nullptr;
    const ProjectedTimeline projected(window, options_.projection,
                                      projection::project_without_streams(window, options_.projection, wanted),
                                      windows_.keys());
    const Projection& projection = projected.projection();
    const WindowRows rows = WindowRows::of(windows_, window, projection, is_last);
    status_ = view_totals_->add({rows, members, projected});
    if (!status_.ok()) return;
    has_calls_ = has_calls_ || window.calls.size() != 0;
    has_kernels_ = has_kernels_ || !window.kernel_details.empty();
    totals_.add(rows);
    attribution_.add(window, projection);
    profiler_.add(window);
    extent_.add(window, rows.own_ranges, [&](RangeIndex range) { return rows.ends_here(range); });
    blocked_.add_window(window, analysis::known_span(window), windows_.time_ns());
    keep_notes(window, is_last);
    if (Status bound = bound_.check(window, {.row_bytes = view_totals_->memory_bytes()}); !bound.ok())
      status_ = std::move(bound).error().with_context(reader_.path());
  }

  /// Each once; those of the whole file stand in the last window.
  void keep_notes(Timeline& window, bool is_last) {
    std::vector<std::string>& to = is_last ? window.notes : notes_;
    const std::vector<std::string>& from = is_last ? notes_ : window.notes;
    for (const std::string& note : from)
      if (std::find(to.begin(), to.end(), note) == to.end()) to.push_back(note);
    if (!is_last) window.notes.clear();
  }

  Status render(const Sink& sink) {
    const Timeline& timeline = *window_;
    const analysis::RecordingFigures figures = totals_.figures(timeline);
    const RangeReport report{timeline, figures.facts};
    Result<Table> made = view_totals_->table(report);
    if (!made) return std::move(made).error();
    Table table = std::move(*made);
    Footer footer = make_footer(timeline, figures.facts.account);
    view_totals_->add_notes(footer.notes);
    if (windows_.abandoned_launches() != 0 && figures.facts.account.unknown.gpu_ops != 0)
      footer.notes.push_back(base::with_thousands(windows_.abandoned_launches()) +
                             " launches had no activity for so long that what they caused later has no owner");
    std::optional<Overview> overview;
    if (wants_overview(options_, view_) && timeline.end_ns > timeline.begin_ns)
      overview = make_overview({timeline, options_.projection, figures, blocked_, view_totals_->by_name()}, footer);
    if (Status status = arrange(table, options_); !status.ok())
      return std::move(status).error().with_context(view_.name);
    Rendering rendering{view_, timeline, std::move(table), std::move(footer), std::move(overview), attribution_};
    rendering.profiler_ns = profiler_.total_ns();
    rendering.recorded_ns = figures.recorded_ns;
    unsigned lacking = kNeedsNothing;
    if (figures.facts.ranges == 0) lacking |= kNeedsRanges;
    if (figures.facts.activities == 0) lacking |= kNeedsActivities;
    if (!has_calls_) lacking |= kNeedsCalls;
    if (!has_kernels_) lacking |= kNeedsKernels;
    rendering.missing = missing_for(view_, timeline, ~lacking);  // an earlier window may have had the others
    return report::write(std::move(rendering), options_, sink);
  }

  capture::CaptureReader& reader_;
  const LoadOptions& load_;
  const View& view_;
  const ViewOptions& options_;
  timeline::MemoryBound bound_;
  Status status_;
  CaptureWindows windows_;
  Timeline* window_ = nullptr;  // the last one, after all
  bool has_calls_ = false, has_kernels_ = false;
  std::unique_ptr<ViewTotals> view_totals_;
  analysis::RecordingTotals totals_;
  analysis::AttributionTotals attribution_;
  analysis::ProfilerTime profiler_;
  analysis::BlockedTimes blocked_;
  timeline::Extent extent_;
  std::vector<std::string> notes_;
};

}  // namespace

bool adds_up(const View& view, const ViewOptions& options) noexcept {
  constexpr std::size_t kMaxTop = std::size_t{1} << 18;
  if (options.by_payload || !options.payload.empty() || !options.by.empty()) return false;
  if (nsight::has_sums(view.name)) return true;
  if (is_list(view, options) || (view.name == "ranges" && options.instances))
    return options.top != 0 && options.top <= kMaxTop;
  if (view.name == "tree" || view.name == "launches") return true;
  return !options.instances &&
         (view.name == "ranges" || view.name == "kernels" || view.name == "memcpy" || view.name == "api");
}

bool is_long(const capture::CaptureReader& reader) noexcept {
  constexpr std::uint64_t kRows = std::uint64_t{3} << 20;  // some 100 bytes each, and as much again for a report
  std::uint64_t rows = 0;
  for (const capture::ChunkEntry& chunk : reader.chunks())
    if (format::holds_events(static_cast<format::ChunkKind>(chunk.header.kind))) rows += chunk.header.rows;
  return rows > kRows;
}

Status write_windowed_report(capture::CaptureReader& reader, const LoadOptions& load, const View& view,
                             const ViewOptions& options, const WindowSizes& sizes, const Sink& sink) {
  const auto read = [&](capture::CaptureReader& each, const RangeEnds* known_ends, RangeEnds* found_ends) {
    return WindowedReport(each, load, view, options, sizes, known_ends, found_ends).write(sink);
  };
  return importer::read_in_windows(reader, read);
}

}  // namespace rangefinder::report
