// SPDX-License-Identifier: MIT
#include "compare/run_figures.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

namespace rangefinder::compare {
namespace {

/// What is told of each subject beside its time.
struct Figure {
  std::string_view name;
  MetricUnit unit;
  double (*of)(const Amounts&);
};

double number(std::int64_t value) noexcept { return static_cast<double>(value); }
double number(std::uint64_t value) noexcept { return static_cast<double>(value); }

constexpr std::array<Figure, 6> kFigures{{
    {"device", MetricUnit::kNanoseconds, [](const Amounts& amounts) { return number(amounts.work_ns); }},
    {"busy", MetricUnit::kNanoseconds, [](const Amounts& amounts) { return number(amounts.busy_ns()); }},
    {"host", MetricUnit::kNanoseconds, [](const Amounts& amounts) { return number(amounts.host_ns); }},
    {"idle", MetricUnit::kNanoseconds, [](const Amounts& amounts) { return number(amounts.idle_ns); }},
    {"calls", MetricUnit::kCount, [](const Amounts& amounts) { return number(amounts.calls); }},
    {"ops", MetricUnit::kCount, [](const Amounts& amounts) { return number(amounts.ops); }},
}};
double time_of(const Amounts& amounts) { return number(amounts.time_ns()); }

/// Of steps as a whole. Sums over places but for memory, of which the greatest counts, and items.
enum class StepFigure : std::uint8_t {
  kTime,
  kDeviceBusy,
  kDeviceIdle,
  kHost,
  kComputation,
  kExposedCommunication,
  kExposedMemcpy,
  kOps,
  kItemsPerSecond,
  kPeakBytes,
};
struct StepMetric {
  std::string_view name;
  StepFigure figure;
  MetricUnit unit;
};
constexpr std::array<StepMetric, 10> kStepMetrics{{
    {"step", StepFigure::kTime, MetricUnit::kNanoseconds},
    {"step.device_busy", StepFigure::kDeviceBusy, MetricUnit::kNanoseconds},
    {"step.device_idle", StepFigure::kDeviceIdle, MetricUnit::kNanoseconds},
    {"step.host", StepFigure::kHost, MetricUnit::kNanoseconds},
    {"step.computation", StepFigure::kComputation, MetricUnit::kNanoseconds},
    {"step.exposed_communication", StepFigure::kExposedCommunication, MetricUnit::kNanoseconds},
    {"step.exposed_memcpy", StepFigure::kExposedMemcpy, MetricUnit::kNanoseconds},
    {"step.ops", StepFigure::kOps, MetricUnit::kCount},
    {"step.items_per_second", StepFigure::kItemsPerSecond, MetricUnit::kPerSecond},
    {"memory.peak", StepFigure::kPeakBytes, MetricUnit::kBytes},
}};

double value_of(const RunStep& step, const Amounts& amounts, StepFigure figure) {
  const double places = step.places == 0 ? 1 : static_cast<double>(step.places);
  switch (figure) {
    case StepFigure::kTime:
      return time_of(amounts) / places;
    case StepFigure::kDeviceBusy:
      return number(amounts.busy_ns()) / places;
    case StepFigure::kDeviceIdle:
      return number(detail::plus(amounts.host_ns, amounts.idle_ns)) / places;
    case StepFigure::kHost:
      return number(amounts.host_ns) / places;
    case StepFigure::kComputation:
      return number(step.computation_ns) / places;
    case StepFigure::kExposedCommunication:
      return number(step.exposed_communication_ns) / places;
    case StepFigure::kExposedMemcpy:
      return number(step.exposed_memcpy_ns) / places;
    case StepFigure::kOps:
      return number(amounts.ops) / places;
    case StepFigure::kItemsPerSecond: {
      const double seconds = time_of(amounts) / places / 1e9;
      return seconds > 0 ? number(step.items) / seconds : 0;
    }
    case StepFigure::kPeakBytes:
      return number(step.peak_bytes);
  }
  return 0;
}

bool is_known(const Run& run, StepFigure figure) {
  const auto any = [&](auto holds) { return std::any_of(run.steps.begin(), run.steps.end(), holds); };
  switch (figure) {
    case StepFigure::kDeviceBusy:
    case StepFigure::kDeviceIdle:
    case StepFigure::kOps:
      return !run.hardware.devices.empty();
    case StepFigure::kExposedCommunication:
      return any([](const RunStep& step) { return step.exposed_communication_ns != 0; });
    case StepFigure::kExposedMemcpy:
      return any([](const RunStep& step) { return step.exposed_memcpy_ns != 0; });
    case StepFigure::kItemsPerSecond:
      return any([](const RunStep& step) { return step.items != 0; });
    case StepFigure::kPeakBytes:
      return any([](const RunStep& step) { return step.peak_bytes >= 0; });
    default:
      return any([](const RunStep& step) { return step.places != 0; });
  }
}

std::string_view prefix_of(SubjectKind kind) noexcept {
  constexpr std::array<std::string_view, kSubjectKinds> kPrefixes{"step", "path", "operator", "kernel", "collective"};
  return kPrefixes[static_cast<std::size_t>(kind)];
}

/// One value for each step that counts: `value_of(step, amounts of the subject in it)`.
template <typename ValueOf>
std::vector<double> values_of(const Run& run, const Subject* subject, ValueOf value_of) {
  std::vector<double> values;
  std::size_t next = 0;
  for (std::uint32_t step = 0; step < run.steps.size(); ++step) {
    Amounts amounts;
    if (subject != nullptr) {
      while (next < subject->by_step.size() && subject->by_step[next].first < step) ++next;
      if (next < subject->by_step.size() && subject->by_step[next].first == step)
        amounts = subject->by_step[next].second;
    }
    if (run.steps[step].counts()) values.push_back(value_of(run.steps[step], amounts));
  }
  return values;
}

template <typename Of>
std::vector<double> means_over_places(const Run& run, const Subject& subject, Of of) {
  return values_of(run, &subject, [&](const RunStep& step, const Amounts& amounts) {
    return of(amounts) / (step.places == 0 ? 1 : static_cast<double>(step.places));
  });
}

const Subject* step_subject(const Run& run) noexcept {
  const auto found = std::find_if(run.subjects.begin(), run.subjects.end(),
                                  [](const Subject& subject) { return subject.kind == SubjectKind::kStep; });
  return found == run.subjects.end() ? nullptr : &*found;
}

/// "path.busy:train/forward" as its three parts.
struct MetricName {
  std::string_view kind;
  std::string_view figure;  ///< empty: time
  std::string_view subject;
};
std::optional<MetricName> parsed(std::string_view metric) {
  const std::size_t colon = metric.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view before = metric.substr(0, colon);
  const std::size_t dot = before.find('.');
  return MetricName{before.substr(0, dot), dot == std::string_view::npos ? std::string_view() : before.substr(dot + 1),
                    metric.substr(colon + 1)};
}

}  // namespace

std::uint64_t Run::counted_steps() const noexcept {
  std::uint64_t count = 0;
  for (const RunStep& step : steps)
    if (step.counts()) count += step.places;
  return count;
}

std::string path_text(const Run& run, std::uint32_t path) {
  std::vector<std::string_view> names;
  for (; path < run.paths.size() && names.size() <= kDeepestPath; path = run.paths[path].around)
    names.push_back(run.paths[path].name);
  std::string text;
  for (auto name = names.rbegin(); name != names.rend(); ++name) text.append(text.empty() ? "" : "/").append(*name);
  return text;
}

std::string name_of(const Run& run, const Subject& subject) {
  const auto of = [&](const std::vector<std::string>& names) {
    return subject.index < names.size() ? names[subject.index] : std::string();
  };
  switch (subject.kind) {
    case SubjectKind::kStep:
      return "step";
    case SubjectKind::kPath:
      return path_text(run, subject.index);
    case SubjectKind::kOperator:
      return of(run.operators);
    case SubjectKind::kKernelFamily:
      return of(run.kernel_families);
    case SubjectKind::kCollective:
      return of(run.collectives);
  }
  return {};
}

std::vector<Metric> metrics_of(const Run& run, bool figures) {
  std::vector<Metric> metrics;
  for (const StepMetric& metric : kStepMetrics)
    if (is_known(run, metric.figure))
      metrics.push_back({std::string(metric.name), metric.unit, metric.figure != StepFigure::kItemsPerSecond});
  for (const Subject& subject : run.subjects) {
    if (subject.kind == SubjectKind::kStep) continue;
    const std::string prefix(prefix_of(subject.kind)), name = ":" + name_of(run, subject);
    metrics.push_back({prefix + name});
    if (!figures) continue;
    for (const Figure& figure : kFigures)
      metrics.push_back({prefix + "." + std::string(figure.name) + name, figure.unit});
  }
  return metrics;
}

std::vector<double> series_of(const Run& run, const Subject& subject) {
  return means_over_places(run, subject, time_of);
}

std::vector<double> series_of(const Run& run, std::string_view metric) {
  for (const StepMetric& known : kStepMetrics) {
    if (known.name != metric) continue;
    if (!is_known(run, known.figure)) return {};
    return values_of(run, step_subject(run), [&](const RunStep& step, const Amounts& amounts) {
      return value_of(step, amounts, known.figure);
    });
  }
  const std::optional<MetricName> name = parsed(metric);
  if (!name) return {};
  const auto* const figure =
      std::find_if(kFigures.begin(), kFigures.end(), [&](const Figure& known) { return known.name == name->figure; });
  if (figure == kFigures.end() && !name->figure.empty()) return {};
  for (const Subject& subject : run.subjects) {
    if (subject.kind == SubjectKind::kStep || prefix_of(subject.kind) != name->kind) continue;
    if (name_of(run, subject) != name->subject) continue;
    return figure == kFigures.end() ? series_of(run, subject) : means_over_places(run, subject, figure->of);
  }
  return {};
}

}  // namespace rangefinder::compare
