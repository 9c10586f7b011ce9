// SPDX-License-Identifier: MIT
#include "bench/lab_tables.hpp"

#include "bench/bottleneck.hpp"
#include "bench/results_tables.hpp"
#include "bench/row_text.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace rangefinder::bench {
namespace {

using report::ColumnType;
using report::InText;
using report::Table;

constexpr std::size_t kTopCauses = 5;
constexpr double kLeastCause = 0.005;  // of a step; less is not worth a line
constexpr std::string_view kTellDevice = "`--profile roofline --peaks FILE` tells arithmetic from memory";

double wall_ratio(JsonView row) { return row["ratios"]["wall"]["value"].number(); }

bool is_measured(JsonView row) {
  const std::string status = row["status"].text();
  return row["correctness"]["passed"].boolean() && status != "failed" && status != "skipped" && wall_ratio(row) > 0;
}

JsonView named(const std::vector<JsonView>& all, std::string_view key, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](JsonView each) { return each[key].text() == name; });
  return found == all.end() ? JsonView() : *found;
}

/// How many changes are below this one. What builds on itself, by whatever way, is as deep as there are rows.
std::size_t depth_of(JsonView row, const std::vector<JsonView>& rows) {
  std::size_t depth = 0;
  for (JsonView at = row; depth < rows.size() && !at["builds_on"].text().empty(); ++depth)
    at = named(rows, "name", at["builds_on"].text());
  return depth;
}

/// Of the row that this one changes. Both were timed in turns with the same baseline, so what the machine did meanwhile
/// is in neither ratio.
std::string over_row_before(JsonView row, const std::vector<JsonView>& rows) {
  const std::string before = row["builds_on"].text();
  if (before.empty()) return ratio_text(wall_ratio(row));
  const double ratio = wall_ratio(named(rows, "name", before));
  return ratio > 0 ? ratio_text(wall_ratio(row) / ratio) : "-";
}

void add_variant(Table& table, JsonView variant, JsonView bytes_ratio) {
  table.number(rounded(variant["peak_bytes"])).text(ratio_text(bytes_ratio));
  table.number(rounded(metric_named(variant, "accuracy")["value"], 1000));
  table.text(class_text(variant["bottleneck"]["class"].text("undecided")));
}

/// Where time of a step goes.
struct Cause {
  std::string name, kind, bound_by, advice;
  double share = 0;
};

/// What a profile tells of a step's time.
struct ProfiledStep {
  JsonView profile;
  JsonView bottleneck;
  bool cuda = false;
  double all_ns = 0;  ///< of all profiled steps

  double share(JsonView ns) const { return ns.number() / all_ns; }
};

std::string name_of_wait(const std::string& what, const std::string& range) {
  if (what == "input") return range.empty() ? "copies to the device" : "waiting for input in " + range;
  if (what == "host") return "the device waits for launches";
  if (what == "synchronisation") return "the host waits for the device";
  return what == "communication" ? what : "waiting that no range names";
}

/// Parts of a step in which no operator works. On a CPU the host's part is operators; on a device the device's is.
void add_waits(std::vector<Cause>& out, const ProfiledStep& step) {
  for (const JsonView part : step.bottleneck["parts"].items()) {
    const std::string what = part["class"].text();
    if (what == (step.cuda ? "device" : "host")) continue;
    const bool known = what != "undecided";
    out.push_back({name_of_wait(what, part["range"].text()), "waiting", known ? class_text(what) : "not known",
                   known ? std::string(what_to_try(what)) : step.bottleneck["missing"].text("-"),
                   part["share"].number()});
  }
}

void add_work(std::vector<Cause>& out, const ProfiledStep& step, std::string name, const char* kind, double share) {
  Cause cause{std::move(name), kind, "host", std::string(what_to_try("host")), share};
  if (step.cuda) {
    const std::vector<JsonView> points = step.profile["roofline"]["operators"].items();
    const std::string limit = named(points, "operator", cause.name)["bound_by"].text();
    cause.bound_by = limit.empty() ? "device" : "device " + limit;
    cause.advice = limit.empty() ? kTellDevice : what_to_try("device_" + limit);
  }
  out.push_back(std::move(cause));
}

std::vector<Cause> causes_of(const ProfiledStep& step) {
  std::vector<Cause> out;
  add_waits(out, step);
  const std::vector<JsonView> operators = step.profile["operators"].items();
  for (const JsonView each : operators)
    add_work(out, step, each["name"].text(), "operator",
             step.share(each[step.cuda ? "device_self_ns" : "cpu_self_ns"]));
  if (operators.empty()) {
    for (const JsonView range : step.profile["ranges"].items()) {
      const std::string name = range["range"].text();
      // The own time of a range that gets input is in the part that waits for it.
      const bool waits = !named(step.bottleneck["parts"].items(), "range", name).is_null();
      if (!waits || step.cuda)
        add_work(out, step, name, "range", step.share(range[step.cuda ? "gpu_self_ns" : "host_self_ns"]));
    }
  }
  out.erase(std::remove_if(out.begin(), out.end(), [](const Cause& cause) { return !(cause.share >= kLeastCause); }),
            out.end());
  std::stable_sort(out.begin(), out.end(), [](const Cause& a, const Cause& b) { return a.share > b.share; });
  out.resize(std::min(out.size(), kTopCauses));
  return out;
}

}  // namespace

std::vector<Series> measured_series(JsonView results) {
  const std::vector<JsonView> all = results["rows"].items();
  std::vector<Series> out;
  for (const JsonView row : all) {
    if (!is_measured(row)) continue;
    const std::string name = row["series"].text().empty() ? row["name"].text() : row["series"].text();
    auto found = std::find_if(out.begin(), out.end(), [&](const Series& series) { return series.name == name; });
    if (found == out.end()) found = out.insert(out.end(), Series{name, {}, {}});
    found->rows.push_back(row);
  }
  for (Series& series : out) {
    std::stable_sort(series.rows.begin(), series.rows.end(),
                     [&](JsonView a, JsonView b) { return depth_of(a, all) < depth_of(b, all); });
    const auto profiled = std::find_if(series.rows.begin(), series.rows.end(),
                                       [](JsonView row) { return !row["baseline"]["profile"].is_null(); });
    series.baseline = (profiled == series.rows.end() ? series.rows.front() : *profiled)["baseline"];
  }
  return out;
}

report::Table changes_table(JsonView results) {
  Table table({{"Row"},
               {"Changes"},
               {"Throughput"},
               {"Over that row"},
               {"Over the baseline"},
               {"Peak memory", "B", ColumnType::kBytes, 0, InText::kUnlessEmpty},
               {"Bytes ratio", {}, ColumnType::kText, 0, InText::kAlways, 1},
               {"Accuracy", "%", ColumnType::kDecimal, 1, InText::kUnlessEmpty},
               {"Bottleneck", {}, ColumnType::kText, 0, InText::kAlways, 2}});
  for (const Series& series : measured_series(results)) {
    table.text("baseline of " + series.name).text("-").text(rate_text(series.baseline)).text("-").text("-");
    add_variant(table, series.baseline, {});
    for (const JsonView row : series.rows) {
      const std::string before = row["builds_on"].text();
      table.text(row["name"].text()).text(before.empty() ? "baseline" : before).text(rate_text(row["optimized"]));
      table.text(over_row_before(row, series.rows)).text(ratio_text(wall_ratio(row)));
      add_variant(table, row["optimized"], row["ratios"]["bytes"]);
    }
  }
  return table;
}

report::Table causes_table(JsonView results) {
  Table table({{"Baseline of"},
               {"Cause"},
               {"Kind", {}, ColumnType::kText, 0, InText::kAlways, 2},
               {"Time a step", "ns", ColumnType::kNanoseconds},
               {"Share of a step", "%", ColumnType::kDecimal, 1},
               {"Bound by"},
               {"What to try", {}, ColumnType::kText, 0, InText::kAlways, 1}});
  for (const Series& series : measured_series(results)) {
    const JsonView profile = series.baseline["profile"];
    const double steps = profile["steps"].number();
    const ProfiledStep step{profile, series.baseline["bottleneck"], results["provenance"]["device"].text() == "cuda",
                            named(profile["ranges"].items(), "range", "step")["host_ns"].number()};
    if (!(step.all_ns > 0 && steps > 0)) continue;
    for (const Cause& cause : causes_of(step)) {
      table.text(series.name).text(cause.name).text(cause.kind);
      table.number(std::llround(cause.share * step.all_ns / steps)).number(std::llround(cause.share * 1000));
      table.text(cause.bound_by).text(cause.advice);
    }
  }
  return table;
}

report::Table shortfalls_table(JsonView results) {
  Table table({{"Row"}, {"Status"}, {"Why"}});
  for (const JsonView row : results["rows"].items()) {
    const std::string status = row["status"].text();
    if (status == "passed" || status == "no_expectation") continue;
    std::string why = row["reason"].text().empty() ? "-" : row["reason"].text();
    if (status == "failed") why += logs_text(row);
    table.text(row["name"].text()).text(class_text(status)).text(why);
  }
  return table;
}

}  // namespace rangefinder::bench
