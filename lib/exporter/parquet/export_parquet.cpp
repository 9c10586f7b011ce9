// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "exporter/parquet/hive.hpp"
#include "exporter/parquet/parquet_library.hpp"
#include "exporter/parquet/recording_tables.hpp"
#include "exporter/parquet/step_marks.hpp"
#include "importer/capture/capture_windows.hpp"
#include "importer/capture/host_assembler.hpp"
#include "projection/project.hpp"
#include "projection/split_graph_launches.hpp"
#include "projection/window_rows.hpp"
#include "timeline/finish.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/parquet.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rangefinder {
namespace {

using importer::CaptureWindows;
using importer::RangeEnds;
using parquet::Partition;
using parquet::RecordingTables;
using parquet::StepMarks;
using projection::WindowRows;

ProjectionOptions projection_of(const ParquetExportOptions& options) { return {options.attribution, true, false}; }

// ---- a capture -----------------------------------------------------------------------------------------------------

/// Hears of steps before the window in which they began is complete.
class StepListener final : public importer::AssemblySink {
 public:
  StepListener(const capture::CaptureReader& reader, StepMarks& marks) : reader_(reader), marks_(marks) {}

  void on_range(const importer::AssembledRange&) override {}
  void on_step(const importer::AssembledStep& step) override {
    marks_.add(reader_.monotonic_of_ticks(step.ticks), step.recorded ? std::int64_t{step.number} : kNoTime);
  }

 private:
  const capture::CaptureReader& reader_;
  StepMarks& marks_;
};

/// One capture, window by window.
class CaptureExport {
 public:
  CaptureExport(const rf_parquet_writer& writer, capture::CaptureReader& reader, RecordingTables::Options target,
                const CaptureWindows::Options& windows)
      : writer_(writer),
        reader_(reader),
        target_(std::move(target)),
        listener_(reader, steps_),
        windows_(reader, heard_by(listener_, windows)) {}

  /// False: nothing was written, as the ends of ranges are not known.
  Result<bool> write(ParquetExportReport& report) {
    windows_.run([this](Timeline& window, bool is_last) {
      if (windows_.knows_ends()) take(window, is_last);
    });
    if (Status status = reader_.file_status(); !status.ok()) return std::move(status).error();
    if (!windows_.knows_ends()) return false;
    if (Status status = tables_->finish(begin_ns_, end_ns_); !status.ok()) return std::move(status).error();
    if (Status status = tables_->take_names(); !status.ok()) return std::move(status).error();
    ++report.recordings;
    report.activities += tables_->activities();
    report.rows += tables_->rows();
    return true;
  }

 private:
  static CaptureWindows::Options heard_by(StepListener& listener, CaptureWindows::Options options) {
    options.assembled = &listener;
    return options;
  }

  void take(Timeline& window, bool is_last) {
    if (tables_ == nullptr) tables_ = std::make_unique<RecordingTables>(writer_, window, steps_, target_);
    // What the recorder has counted, and what the reader has found so far.
    tables_->set_losses(reader_.health(), window.clock_error_ns);
    projection::split_graph_launches_of_window(window, windows_.activity_rows(), target_.projection);
    const Projection projection = projection::project_owners(window, target_.projection);
    const WindowRows rows = WindowRows::of(windows_, window, projection, is_last);
    tables_->add(rows, windows_.call_rows());
    extent_.add(window, rows.own_ranges, [&](RangeIndex range) { return rows.ends_here(range); });
    if (!is_last) return;
    extent_.write(window);
    begin_ns_ = window.begin_ns;
    end_ns_ = window.end_ns;
  }

  const rf_parquet_writer& writer_;
  capture::CaptureReader& reader_;
  RecordingTables::Options target_;
  StepMarks steps_;
  StepListener listener_;
  CaptureWindows windows_;
  std::unique_ptr<RecordingTables> tables_;  // since the first window; it reads the timeline of `windows_`
  timeline::Extent extent_;
  std::int64_t begin_ns_ = 0;
  std::int64_t end_ns_ = 0;
};

Status write_capture(const rf_parquet_writer& writer, const std::string& path, const RecordingTables::Options& target,
                     const ParquetExportOptions& options, ParquetExportReport& report) {
  Result<capture::CaptureReader> opened = capture::CaptureReader::open(path);
  if (!opened) return std::move(opened).error();
  const auto read = [&](capture::CaptureReader& reader, const RangeEnds* known_ends, RangeEnds* found_ends) {
    const CaptureWindows::Options windows{
        .progress = importer::progress_of(options), .known_ends = known_ends, .found_ends = found_ends};
    return CaptureExport(writer, reader, target, windows).write(report);
  };
  return importer::read_in_windows(*opened, read);
}

// ---- anything else -------------------------------------------------------------------------------------------------

StepMarks marks_of(const Timeline& timeline, ProcessIndex process) {
  StepMarks marks;
  std::set<std::int64_t> begins;
  const StepTable& steps = timeline.steps;
  const auto is_ours = [&](std::size_t row) { return timeline.threads[steps.thread[row]].process == process; };
  for (std::size_t row = 0; row < steps.size(); ++row) {
    if (!is_ours(row)) continue;
    begins.insert(steps.begin_ns[row]);
    marks.add(steps.begin_ns[row], steps.number[row]);
  }
  for (std::size_t row = 0; row < steps.size(); ++row)
    if (is_ours(row) && begins.find(steps.end_ns[row]) == begins.end()) marks.add(steps.end_ns[row], kNoTime);
  return marks;
}

Status write_timeline(const rf_parquet_writer& writer, Timeline& timeline, RecordingTables::Options target,
                      ParquetExportReport& report) {
  (void)split_graph_launches(timeline, target.projection);
  const Projection projection = projection::project_owners(timeline, target.projection);
  const WindowRows rows = WindowRows::whole(timeline, projection);
  for (ProcessIndex process{0}; process < timeline.processes.size(); ++process) {
    const std::int32_t rank = timeline.processes[process].rank;
    target.process = process;
    target.partition.rank = rank >= 0 ? rank : static_cast<std::int32_t>(process);
    const StepMarks marks = marks_of(timeline, process);
    RecordingTables tables(writer, timeline, marks, target);
    tables.set_losses(timeline.health, timeline.clock_error_ns);
    tables.add(rows, timeline.calls.size());
    if (Status status = tables.finish(timeline.begin_ns, timeline.end_ns); !status.ok()) return status;
    if (Status status = tables.take_names(); !status.ok()) return status;
    ++report.recordings;
    report.activities += tables.activities();
    report.rows += tables.rows();
  }
  return {};
}

// ---- which job, run and rank ---------------------------------------------------------------------------------------

/// What stands in a capture beside its events.
struct CaptureFacts {
  std::string path;
  std::string job;
  std::int32_t rank = -1;
  std::int64_t start_realtime_ns = kNoTime;
};

std::int32_t rank_of(std::string_view text) noexcept {
  std::int32_t rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return error == std::errc() && end == text.data() + text.size() && rank >= 0 ? rank : -1;
}

Result<CaptureFacts> facts_of(const std::string& path) {
  Result<CaptureInfo> info = inspect_capture(path, false);
  if (!info) return std::move(info).error();
  CaptureFacts facts{.path = path, .start_realtime_ns = info->start_realtime_ns};
  for (const auto& [key, value] : info->metadata) {
    if (key == "job") facts.job = value;
    if (key == "rank") facts.rank = rank_of(value);
  }
  return facts;
}

/// "train" of "runs/train.rfcap" and of "runs/train/".
std::string stem_of(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string name(base::file_name(path));
  const std::size_t dot = name.find('.', 1);
  return dot == std::string::npos ? name : name.substr(0, dot);
}

bool is_capture(const std::string& path) {
  return !base::is_directory(path) && !base::is_special(path) && inspect_capture(path, false).ok();
}

/// The captures that the input is; empty: it is something else.
Result<std::vector<CaptureFacts>> captures_of(const std::string& input) {
  std::vector<std::string> paths;
  if (base::is_directory(input)) {
    Result<std::vector<std::string>> files = base::list_files(input, ".rfcap");
    if (!files) return std::move(files).error();
    paths = std::move(*files);
  } else if (is_capture(input)) {
    paths = {input};
  }
  std::vector<CaptureFacts> captures;
  for (const std::string& path : paths) {
    Result<CaptureFacts> facts = facts_of(path);
    if (!facts) return std::move(facts).error();
    captures.push_back(std::move(*facts));
  }
  return captures;
}

/// Ranks that captures do not tell, or tell twice, are the least that are free: files of two processes stay apart.
void number_ranks(std::vector<CaptureFacts>& captures) {
  std::set<std::int32_t> taken;
  std::vector<CaptureFacts*> without;
  for (CaptureFacts& capture : captures)
    if (capture.rank < 0 || !taken.insert(capture.rank).second) without.push_back(&capture);
  std::int32_t next = 0;
  for (CaptureFacts* const capture : without) {
    while (!taken.insert(next).second) ++next;
    capture->rank = next;
  }
}

Partition partition_of(const ParquetExportOptions& options, const std::string& input, const std::string& job,
                       std::int64_t start_realtime_ns) {
  Partition partition;
  partition.job = !options.job.empty() ? options.job : !job.empty() ? job : stem_of(input);
  partition.run = !options.run.empty() ? options.run : parquet::run_of_time(start_realtime_ns);
  return partition;
}

Status export_all(const std::string& input, const std::string& folder, const ParquetExportOptions& options,
                  ParquetExportReport& report) {
  const rf_parquet_writer* writer = options.writer;
  if (writer == nullptr) {
    const Result<const rf_parquet_writer*> loaded = parquet::load_parquet_writer();
    if (!loaded) return loaded.error();
    writer = *loaded;
  }
  Result<std::vector<CaptureFacts>> captures = captures_of(input);
  if (!captures) return std::move(captures).error();
  RecordingTables::Options target{
      .root = folder, .projection = projection_of(options), .detail = options.detail, .replace = options.replace};
  if (captures->empty()) {
    LoadOptions load;
    load.max_memory_bytes = options.max_memory_bytes;
    load.progress = options.progress;
    load.progress_user = options.progress_user;
    Result<Timeline> timeline = load_timeline(input, load);
    if (!timeline) return std::move(timeline).error();
    const std::int64_t offset = timeline->realtime_offset_ns;
    target.partition = partition_of(options, input, {}, offset == kNoTime ? kNoTime : timeline->begin_ns + offset);
    return write_timeline(*writer, *timeline, std::move(target), report);
  }
  number_ranks(*captures);
  std::int64_t start_ns = captures->front().start_realtime_ns;
  for (const CaptureFacts& capture : *captures) start_ns = std::min(start_ns, capture.start_realtime_ns);
  for (const CaptureFacts& capture : *captures) {
    target.partition = partition_of(options, input, capture.job, start_ns);
    target.partition.rank = capture.rank;
    if (Status status = write_capture(*writer, capture.path, target, options, report); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status export_parquet(const std::string& input, const std::string& folder, const ParquetExportOptions& options,
                      ParquetExportReport* report) {
  ParquetExportReport done;
  Status status = export_all(input, folder, options, done);
  if (report != nullptr) *report = done;
  return status.ok() ? Status() : Status(std::move(status).error().with_context("export"));
}

}  // namespace rangefinder
