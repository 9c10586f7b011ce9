// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "bench/bottleneck.hpp"
#include "bench/results.hpp"
#include "bench/results_tables.hpp"
#include "bench/row_text.hpp"
#include "report/table.hpp"
#include "report/units.hpp"

#include <rangefinder/bench/harness.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rangefinder::bench {
namespace {

using report::Column;
using report::ColumnType;

constexpr std::size_t kTop = 5;

std::string time_text(double ns) { return report::readable_time(std::llround(ns)); }

std::string time_text(JsonView ns) { return ns.is_number() ? time_text(ns.number()) : "-"; }

std::string bytes_text(JsonView bytes) { return bytes.is_number() ? report::readable_bytes(bytes.integer()) : "-"; }

std::string percent(const std::optional<double>& share) { return share ? fmt::format("{:.1f} %", *share * 100) : "-"; }

/// The costliest of a profile, a line each: operators where they were recorded, ranges otherwise.
std::string top_of(JsonView profile) {
  const bool operators = !profile["operators"].items().empty();
  const double steps = std::max<double>(1, profile["steps"].number());
  std::vector<std::pair<double, std::string>> all;
  for (const JsonView each : profile[operators ? "operators" : "ranges"].items()) {
    const double host = operators ? each["cpu_self_ns"].number() : each["host_ns"].number();
    const double device = operators ? each["device_self_ns"].number() : each["gpu_busy_ns"].number();
    const std::string name = each[operators ? "name" : "range"].text();
    all.emplace_back(std::max(host, device),
                     fmt::format("`{}`: host {}, device {}", base::printable(name), time_text(host / steps),
                                 device > 0 ? time_text(device / steps) : "-"));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (all.empty()) return "-\n";
  std::string out = operators ? "operators, own time a step:\n" : "ranges, time a step:\n";
  for (std::size_t i = 0; i < std::min(kTop, all.size()); ++i) out += fmt::format("  {}. {}\n", i + 1, all[i].second);
  return out;
}

std::string metric_text(JsonView metric) {
  const std::string kind = metric["kind"].text();
  if (kind == "time") return time_text(metric["value"]);
  if (!metric["value"].is_number()) return "-";
  const double value = metric["value"].number();
  return kind == "bytes" ? report::readable_bytes(std::llround(value)) : fmt::format("{:.4g}", value);
}

/// More is better of rates, less of all else that can be better; whether a fact is, is not stated.
std::string metric_ratio(JsonView before, JsonView after) {
  const std::string kind = before["kind"].text();
  const double a = before["value"].number(), b = after["value"].number();
  if (kind.empty() || kind == "fact" || !(a > 0 && b > 0)) return "-";
  return ratio_text(kind == "rate" ? b / a : a / b);
}

/// What the benchmark itself tells of its variants: accuracy, launches, bytes of a pool.
template <typename Line>
void append_metrics(JsonView row, Line line) {
  const JsonView before = row["baseline"], after = row["optimized"];
  const auto both = [&](const std::string& name) {
    const JsonView a = metric_named(before, name), b = metric_named(after, name);
    line(base::printable(name), metric_text(a), metric_text(b), metric_ratio(a, b));
  };
  for (const JsonView metric : before["metrics"].items()) both(metric["name"].text());
  for (const JsonView metric : after["metrics"].items()) {
    if (metric_named(before, metric["name"].text()).is_null()) both(metric["name"].text());
  }
}

std::string before_and_after(JsonView row) {
  const JsonView before = row["baseline"], after = row["optimized"], ratios = row["ratios"];
  const std::string basis = ratios["basis"].text("wall_ns");
  std::string out = "| | baseline | optimized | ratio |\n|---|---:|---:|---:|\n";
  const auto line = [&](const std::string& what, const std::string& a, const std::string& b, const std::string& ratio) {
    out += fmt::format("| {} | {} | {} | {} |\n", what, a, b, ratio);
  };
  line(basis == "cpu_ns" ? "CPU time a step" : "wall time a step", time_text(before[basis]["p50"]),
       time_text(after[basis]["p50"]), ratio_text(ratios["time"]["value"]));
  if (basis == "cpu_ns")
    line("wall time a step", time_text(before["wall_ns"]["p50"]), time_text(after["wall_ns"]["p50"]),
         ratio_text(ratios["wall"]["value"]));
  line("peak memory", bytes_text(before["peak_bytes"]), bytes_text(after["peak_bytes"]), ratio_text(ratios["bytes"]));
  line("rate", rate_text(before), rate_text(after), ratio_text(ratios["wall"]["value"]));
  append_metrics(row, line);
  return out;
}

/// CPU time / wall time: 1 is one core.
std::optional<double> processor_share(JsonView variant) {
  const JsonView wall = variant["wall_ns"]["p50"], cpu = variant["cpu_ns"]["p50"];
  if (!(wall.number() > 0) || !cpu.is_number()) return std::nullopt;
  return cpu.number() / wall.number();
}

/// Time with device work / wall time, in the profiled steps.
std::optional<double> device_share(JsonView variant, const std::string& device) {
  if (device != "cuda") return std::nullopt;
  for (const JsonView range : variant["profile"]["ranges"].items()) {
    if (range["range"].text() == "step" && range["host_ns"].number() > 0)
      return range["gpu_busy_ns"].number() / range["host_ns"].number();
  }
  return std::nullopt;
}

/// "41.2 % of 9.89e+14 FLOP/s in bf16", or why it is not known.
std::string mfu_text(JsonView variant) {
  const JsonView mfu = variant["mfu"];
  if (mfu.is_null()) return "- (" + base::printable(variant["mfu_missing"].text("not timed")) + ")";
  return fmt::format("{:.1f} % of {:.3g} FLOP/s in {}", mfu["value"].number() * 100, mfu["peak_flops_per_s"].number(),
                     base::printable(mfu["type"].text()));
}

std::string section(JsonView row, const std::string& device) {
  std::string out =
      fmt::format("\n## {}\n\n{}\n\n", base::printable(row["name"].text()), base::printable(row["purpose"].text("-")));
  out += fmt::format("Goal {}. Status: {}{}.\n\n", base::printable(goal_text(row)), row["status"].text(),
                     row["reason"].text().empty() ? "" : ": " + base::printable(row["reason"].text()));
  const std::string status = row["status"].text();
  // What is wrong has no speed, and what was skipped was not measured.
  if (!row["correctness"]["passed"].boolean() || status == "skipped") return out + "Not measured.\n";
  out += before_and_after(row);
  for (const char* variant : {"baseline", "optimized"}) {
    const JsonView measured = row[variant], bottleneck = measured["bottleneck"];
    const std::string bound = bottleneck["class"].text("undecided");
    out += fmt::format("\n**{}**: {}.\n", variant, bottleneck_text(bottleneck));
    out += fmt::format("- Utilisation: processor {}, device {}\n", percent(processor_share(measured)),
                       percent(device_share(measured, device)));
    out += "- MFU: " + mfu_text(measured) + "\n";
    out += "- Top " + top_of(measured["profile"]);
    if (std::string_view(variant) == "optimized") out += fmt::format("- Next: {}\n", what_to_try(bound));
  }
  return out;
}

}  // namespace

Result<std::string> recommendations(const std::string& json) {
  const Result<Json> results = results_from(json);
  if (!results) return results.error();
  const JsonView where = JsonView(*results)["provenance"];
  std::string out = fmt::format(
      "# Recommendations\n\nFrom measured rows only; \"-\" where something was not measured. {}, {}, profile {}.\n",
      base::printable(where["hardware_key"].text()), base::printable(where["time"].text()), where["profile"].text());
  for (const JsonView row : JsonView(*results)["rows"].items()) out += section(row, where["device"].text());
  return out;
}

}  // namespace rangefinder::bench
