// SPDX-License-Identifier: MIT
#include "analysis/steps.hpp"
#include "exporter/chrome/byte_sink.hpp"
#include "exporter/open_metrics/metric_text.hpp"
#include "projection/project.hpp"

#include <rangefinder/exporters.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder {
namespace {

using analysis::Goodput;
using analysis::kNotKnown;
using analysis::StepAnalysis;
using analysis::StepFigures;
using analysis::StepPart;
using open_metrics::Labels;
using open_metrics::MetricText;
using open_metrics::ratio;
using open_metrics::seconds;

/// The steps of a process, and who that is.
struct ProcessSteps {
  Labels labels;
  std::span<const StepFigures> steps;
};

Labels labels_of(const ProcessInfo& process) {
  Labels labels;
  if (!process.host.empty()) labels.emplace_back("host", process.host);
  labels.emplace_back("pid", std::to_string(process.pid));
  if (process.rank >= 0) labels.emplace_back("rank", std::to_string(process.rank));
  return labels;
}

std::vector<ProcessSteps> by_process(const Timeline& timeline, const StepAnalysis& analysis) {
  std::vector<ProcessSteps> out;
  const std::span<const StepFigures> steps(analysis.steps);
  for (std::size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
    while (end < steps.size() && steps[end].process == steps[begin].process) ++end;
    out.push_back({labels_of(timeline.processes[steps[begin].process]), steps.subspan(begin, end - begin)});
  }
  return out;
}

Labels with(Labels labels, std::string_view name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

template <typename Figure>
std::int64_t sum_of(std::span<const StepFigures> steps, Figure figure) {
  std::int64_t sum = 0;
  for (const StepFigures& step : steps) sum += figure(step);
  return sum;
}

class StepMetrics {
 public:
  StepMetrics(const Timeline& timeline, const StepAnalysis& analysis)
      : timeline_(timeline), analysis_(analysis), processes_(by_process(timeline, analysis)) {}

  std::string write() && {
    write_lengths();
    write_counts();
    write_parts();
    write_device();
    write_last();
    write_recording();
    return std::move(text_).finish();
  }

 private:
  void write_lengths() {
    text_.family("rangefinder_step_seconds", "summary", "seconds",
                 "Length of a step; quantiles leave out the warm-up, sum and count do not");
    for (const ProcessSteps& process : processes_) {
      std::vector<std::int64_t> lengths;
      for (const StepFigures& step : process.steps)
        if (!step.warm_up) lengths.push_back(step.step_ns());
      const analysis::Percentiles at = analysis::percentiles_of(std::move(lengths));
      text_.sample("", with(process.labels, "quantile", "0.5"), seconds(at.p50));
      text_.sample("", with(process.labels, "quantile", "0.95"), seconds(at.p95));
      text_.sample("", with(process.labels, "quantile", "0.99"), seconds(at.p99));
      text_.sample("_sum", process.labels, seconds(sum_of(process.steps, std::mem_fn(&StepFigures::step_ns))));
      text_.sample("_count", process.labels, std::to_string(process.steps.size()));
    }
  }

  void write_counts() {
    const auto counter = [&](std::string_view name, std::string_view help, auto figure) {
      text_.family(name, "counter", "", help);
      for (const ProcessSteps& process : processes_) {
        std::uint64_t sum = 0;
        for (const StepFigures& step : process.steps) sum += figure(step);
        text_.sample("_total", process.labels, std::to_string(sum));
      }
    };
    counter("rangefinder_step_items", "Items, tokens or samples, that were done in steps",
            [](const StepFigures& step) { return step.items; });
    counter("rangefinder_warm_up_steps", "Steps that were slower because they were the first",
            [](const StepFigures& step) { return step.warm_up ? std::uint64_t{1} : 0; });
    counter("rangefinder_skipped_steps", "Steps whose work was thrown away",
            [](const StepFigures& step) { return step.skipped ? std::uint64_t{1} : 0; });
  }

  void write_parts() {
    text_.family(
        "rangefinder_step_part_seconds", "counter", "seconds",
        "Host time of steps by part; the parts but for recompute, which is inside of others, add up to the steps");
    for (const ProcessSteps& process : processes_) {
      for (std::size_t part = 0; part < analysis::kStepParts; ++part) {
        const auto which = static_cast<StepPart>(part);
        if (which == StepPart::kSkipped) continue;
        const std::int64_t ns = sum_of(process.steps, [&](const StepFigures& step) { return step.part(which); });
        text_.sample("_total", with(process.labels, "part", std::string(analysis::name_of(which))), seconds(ns));
      }
      const std::int64_t other_ns = sum_of(process.steps, [](const StepFigures& step) { return step.other_ns; });
      text_.sample("_total", with(process.labels, "part", "other"), seconds(other_ns));
    }
  }

  /// Where it is known of every step: a sum with holes would say too little.
  void write_device() {
    text_.family("rangefinder_step_device_busy_seconds", "counter", "seconds",
                 "Time in steps in which any device of the process did anything");
    for (const ProcessSteps& process : processes_) {
      bool known = true;
      for (const StepFigures& step : process.steps) known = known && step.device_busy_ns != kNotKnown;
      if (!known) continue;
      const std::int64_t ns = sum_of(process.steps, [](const StepFigures& step) { return step.device_busy_ns; });
      text_.sample("_total", process.labels, seconds(ns));
    }
    text_.family("rangefinder_step_peak_bytes", "gauge", "bytes",
                 "Most that an allocator held on one device at any time in a step");
    for (const ProcessSteps& process : processes_) {
      std::int64_t most = kNotKnown;
      for (const StepFigures& step : process.steps)
        if (step.peak_bytes != kNotKnown && (most == kNotKnown || step.peak_bytes > most)) most = step.peak_bytes;
      if (most != kNotKnown) text_.sample("", process.labels, std::to_string(most));
    }
  }

  void write_last() {
    text_.family("rangefinder_last_step", "gauge", "", "Number of the last step");
    for (const ProcessSteps& process : processes_)
      text_.sample("", process.labels, std::to_string(process.steps.back().number));
    if (timeline_.realtime_offset_ns == kNoTime) return;
    text_.family("rangefinder_last_step_end_timestamp_seconds", "gauge", "seconds",
                 "Unix time at which the last step ended");
    for (const ProcessSteps& process : processes_)
      text_.sample("", process.labels, seconds(process.steps.back().end_ns + timeline_.realtime_offset_ns));
  }

  void write_recording() {
    const Goodput& goodput = analysis_.goodput;
    text_.family(
        "rangefinder_goodput_ratio", "gauge", "ratio",
        "Time of all processes that was not lost to waiting for data, checkpoints, recomputation, skipped steps, "
        "warm-up or between steps");
    text_.sample("", {}, ratio(goodput.useful_ns, goodput.wall_ns));
    text_.family("rangefinder_recording_complete", "gauge", "", "1: nothing was lost; 0: see rangefinder_lost_records");
    text_.sample("", {}, timeline_.health.complete() ? "1" : "0");
    text_.family("rangefinder_lost_records", "counter", "",
                 "What the recording lost, by cause; causes without any are left out");
    for (const CaptureHealth::Entry& entry : timeline_.health.entries()) {
      if (entry.count != 0 && entry.severity == CaptureHealth::Severity::kLoss)
        text_.sample("_total", {{"cause", std::string(entry.name)}}, std::to_string(entry.count));
    }
    text_.family("rangefinder_clock_error_seconds", "gauge", "seconds",
                 "Most that a device time can be off against a host time; 0: not known");
    text_.sample("", {}, seconds(timeline_.clock_error_ns));
  }

  const Timeline& timeline_;
  const StepAnalysis& analysis_;
  std::vector<ProcessSteps> processes_;
  MetricText text_;
};

Status write_file(const std::string& text, const std::string& output, bool replace) {
  Result<std::unique_ptr<chrome::ByteSink>> sink = chrome::open_output(output, replace);
  if (!sink) return std::move(sink).error().with_context("export");
  Status status = (*sink)->write(text);
  if (status.ok()) status = (*sink)->finish();
  return status.ok() ? status : Status(std::move(status).error().with_context("export"));
}

}  // namespace

Status export_step_metrics(const Timeline& timeline, const std::string& output, const StepMetricsOptions& options) {
  ProjectionOptions projection;
  projection.attribution = options.attribution;
  const StepAnalysis analysis =
      analysis::analyse_steps(timeline, projection::project_without_streams(timeline, projection));
  if (analysis.steps.empty()) {
    return Error(ErrorCode::kNotFound,
                 "export: the input holds no steps that were recorded to their end (session.step(), ProfilerStep#N)");
  }
  return write_file(StepMetrics(timeline, analysis).write(), output, options.replace);
}

Status export_step_metrics(const std::string& input, const std::string& output, const StepMetricsOptions& options) {
  LoadOptions load;
  load.max_memory_bytes = options.max_memory_bytes;
  Result<Timeline> timeline = load_timeline(input, load);
  if (!timeline) return std::move(timeline).error().with_context("export");
  return export_step_metrics(*timeline, output, options);
}

}  // namespace rangefinder
