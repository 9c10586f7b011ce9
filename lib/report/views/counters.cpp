// SPDX-License-Identifier: MIT
#include "analysis/range_metrics.hpp"
#include "analysis/range_rollup.hpp"
#include "projection/flat_map.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/path_rows.hpp"
#include "report/views/range_paths.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// `counters`: hardware counters of ranges, by path and by where they come from.
namespace rangefinder::report {
namespace {

using analysis::MetricSource;
using analysis::RangeMetric;

/// A metric of a group: instances added up, or averaged by their device time.
struct Sum {
  double value = 0;
  double device_ns = 0;
  double weighted = 0;
  std::uint64_t count = 0;
};

struct CounterGroup {
  Paths::Node path = Paths::kNothing;
  MetricSource source = MetricSource::kRangeProfiler;
  std::uint64_t instances = 0;
  double device_ns = 0;
  double busy_ns = 0;  // of samples: the device time that they might have covered
};

struct CounterGroups {
  std::vector<CounterGroup> rows;
  std::vector<Sum> sums;  // of each row one for each metric
};

bool is_ratio(std::string_view metric) noexcept { return metric.ends_with("_ratio"); }
bool is_bytes(std::string_view metric) noexcept { return metric.ends_with("_bytes"); }
bool is_operations(std::string_view metric) noexcept { return metric.starts_with("flop_"); }

/// "DRAM read" of "dram_read_bytes"; names of CUPTI's own stay.
std::string heading(std::string_view metric) {
  if (metric.find("__") != std::string_view::npos) return std::string(metric);
  for (const std::string_view unit : {"_bytes", "_ratio", "_ns"}) {
    if (metric.ends_with(unit)) metric.remove_suffix(unit.size());
  }
  std::string text(metric);
  std::replace(text.begin(), text.end(), '_', ' ');
  for (const std::string_view word : {"dram", "sm", "gpu", "flop", "l1", "l2"}) {
    if (text.compare(0, word.size(), word) == 0 && (text.size() == word.size() || text[word.size()] == ' '))
      std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(word.size()), text.begin(),
                     [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
  }
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 32);
  return text;
}

/// `path_of` gives the path that a range counts for.
template <typename PathOf>
CounterGroups groups_of(const analysis::RangeMetrics& metrics, PathOf path_of) {
  const auto column_of = [&](StringId metric) {
    const auto all = metrics.metrics();
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), metric) - all.begin());
  };
  CounterGroups groups;
  projection::FlatMap known;  // by path and source
  RangeIndex last = kNone;
  std::size_t of_last[2] = {0, 0};  // by source
  bool counted[2] = {false, false};
  for (const RangeMetric& row : metrics.rows()) {
    const auto source = static_cast<std::size_t>(row.source);
    if (row.range != last) {
      last = row.range;
      counted[0] = counted[1] = false;
    }
    if (!counted[source]) {
      counted[source] = true;
      const Paths::Node path = path_of(row.range);
      const std::uint64_t key = std::uint64_t{path} << 1 | source;
      of_last[source] = known.find_or_set(key, static_cast<std::uint32_t>(groups.rows.size()));
      if (of_last[source] == groups.rows.size()) {
        groups.rows.push_back({path, row.source, 0, 0, 0});
        groups.sums.resize(groups.rows.size() * metrics.metrics().size());
      }
      CounterGroup& group = groups.rows[of_last[source]];
      ++group.instances;
      group.device_ns += row.device_ns;
      group.busy_ns += row.busy_ns;
    }
    if (row.covered_ratio == 0) continue;
    Sum& sum = groups.sums[of_last[source] * metrics.metrics().size() + column_of(row.metric)];
    sum.value += row.value;
    sum.device_ns += row.device_ns;
    sum.weighted += row.value * (row.device_ns > 0 ? row.device_ns : 1);
    sum.count += 1;
  }
  return groups;
}

/// A group, and its metrics in the order of RangeMetrics::metrics.
struct CounterRow {
  const CounterGroup& group;
  const Sum* sums;

  bool sampled() const noexcept { return group.source == MetricSource::kSamples; }
  double covered() const noexcept { return group.busy_ns > 0 ? group.device_ns / group.busy_ns : 1; }
};

std::optional<std::int64_t> to_cell(double value) noexcept {
  constexpr double kMax = 9e18;
  if (!(value > -kMax && value < kMax)) return {};
  return static_cast<std::int64_t>(std::llround(value));
}

/// An average of the group's instances, or their sum, in units of 1 / `scale`.
std::optional<std::int64_t> value_of(const Sum& sum, bool average, double scale) {
  if (sum.count == 0) return {};
  if (!average) return to_cell(sum.value * scale);
  const double weight = sum.device_ns > 0 ? sum.device_ns : static_cast<double>(sum.count);
  return to_cell(sum.weighted / weight * scale);
}

/// Tenths of thousand millions a second, which are units a nanosecond.
std::optional<std::int64_t> rate_of(const Sum& sum) {
  if (sum.device_ns <= 0) return {};
  return to_cell(sum.value / sum.device_ns * 10);
}

/// The columns of the metric with that number.
void add_metric_columns(ColumnsOf<CounterRow>& columns, std::string_view name, std::size_t number) {
  using Row = CounterRow;
  const auto value = [number, average = analysis::is_average(name)](double scale) {
    return [=](const Row& row) { return value_of(row.sums[number], average, scale); };
  };
  const auto rate = [number](const Row& row) { return rate_of(row.sums[number]); };
  const std::string title = heading(name);
  if (is_ratio(name)) {
    columns.percent(title, value(1000));
  } else if (is_bytes(name)) {
    columns.bytes(title, value(1));
    columns.decimal(title + " rate", "GB/s", 1, rate).if_room(2).if_any();
  } else if (is_operations(name)) {
    columns.count(title, value(1));
    columns.decimal(title + " rate", "GFLOP/s", 1, rate).if_room(2).if_any();
  } else {
    columns.decimal(title, {}, 2, value(100));
  }
}

ColumnsOf<CounterRow> columns_of(const Timeline& timeline, const analysis::RangeMetrics& metrics) {
  using Row = CounterRow;
  const auto device_ns = [](const Row& row) {
    return row.group.device_ns > 0 ? to_cell(row.group.device_ns) : std::nullopt;
  };
  const auto sampled = [](const Row& row) { return row.sampled() ? to_cell(row.covered() * 1000) : std::nullopt; };
  const auto path = [](const Row& row) { return row.group.path; };
  ColumnsOf<Row> columns;
  columns.path("Range", path);
  columns.text("From", [](const Row& row) { return row.sampled() ? "samples" : "range profiler"; });
  columns.count("Count", [](const Row& row) { return row.group.instances; });
  columns.time("GPU time", device_ns).if_any();
  for (std::size_t i = 0; i < metrics.metrics().size(); ++i) {
    const std::string_view name = timeline.text(metrics.metrics()[i]);
    if (name != "gpu_time_ns") add_metric_columns(columns, name, i);  // which has a column already
  }
  columns.percent("Sampled", sampled).if_room(3);
  common::add_id_of(columns, "Range", path);
  return columns;
}

/// Groups in order of first appearance, and their paths in the table.
CounterGroups groups_in(Table& table, const ProjectedTimeline& projected, const analysis::RangeMetrics& metrics,
                        bool by_instance) {
  const Timeline& timeline = projected.timeline();
  if (by_instance) {
    RangePaths paths(table, projected);
    return groups_of(metrics, [&](RangeIndex range) { return paths.of(range); });
  }
  const analysis::PathTree tree = analysis::range_tree(timeline, projected.projection(), projected.projection_options(),
                                                       {}, analysis::HostSpread::kNotWanted);
  common::add_paths(table, timeline, tree);
  PathWords names(table);  // of ranges that take no part in the projection
  return groups_of(metrics, [&](RangeIndex range) {
    const std::uint32_t group = tree.group_of[range];
    return group != kNone ? group : names.of(timeline.text(timeline.ranges.name[range]));
  });
}

}  // namespace

Result<Table> make_counters(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const analysis::RangeMetrics metrics(timeline, projected.projection());
  const ColumnsOf<CounterRow> columns = columns_of(timeline, metrics);
  Table table = columns.table();
  bool partly = false;
  const CounterGroups groups = groups_in(table, projected, metrics, options.instances);
  const Sum* sums = groups.sums.data();
  for (const CounterGroup& group : groups.rows) {
    const CounterRow row{group, sums};
    columns.add_row(table, row);
    partly = partly || (row.sampled() && row.covered() < 0.99);
    sums += metrics.metrics().size();
  }
  if (partly) table.note("Sampled: share of the range's device time that has samples; the figures lack the rest");
  return table;
}

}  // namespace rangefinder::report
