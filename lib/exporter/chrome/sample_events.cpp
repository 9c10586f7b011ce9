// SPDX-License-Identifier: MIT
#include "exporter/chrome/sample_events.hpp"

#include "analysis/range_metrics.hpp"
#include "exporter/chrome/markers.hpp"

namespace rangefinder::chrome {

void SampleEvents::write(TrackId row, std::string_view metric, std::int64_t begin_ns, std::int64_t end_ns,
                         double value) {
  if (!options_.counters || end_ns <= begin_ns) return;
  const bool average = analysis::is_average(metric);
  const auto [found, first] = series_.try_emplace({row, std::string(metric)});
  Series& series = found->second;
  if (first) series.name = std::string(metric) + (average ? "" : "/s");
  // A viewer draws a value until the next one: where there are no samples, nothing is known to have happened.
  if (!first && series.end_ns < begin_ns) write_value(row, series, series.end_ns, 0);
  series.end_ns = end_ns;
  write_value(row, series, begin_ns, average ? value : value * 1e9 / static_cast<double>(end_ns - begin_ns));
}

void SampleEvents::finish() {
  for (const auto& [key, series] : series_) write_value(key.first, series, series.end_ns, 0);
  series_.clear();
}

void SampleEvents::write_value(TrackId row, const Series& series, std::int64_t time_ns, double value) {
  if (time_ns < options_.begin_ns || time_ns >= options_.end_ns) return;
  write_counter(writer_, table_.ids(row), time_ns, {series.name, false, 0, value});
}

}  // namespace rangefinder::chrome
