// SPDX-License-Identifier: MIT
#include "bench/results_tables.hpp"

#include "base/text.hpp"
#include "bench/row_text.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rangefinder::bench {
namespace {

using report::Column;
using report::ColumnType;
using report::InText;
using report::Table;

constexpr std::array<const char*, 2> kVariants{"baseline", "optimized"};
constexpr std::size_t kMaxRows = 10;  // of one variant

Column time_column(const char* name, InText when = InText::kAlways) {
  return {name, "ns", ColumnType::kNanoseconds, 0, when};
}

Column bytes_column(const char* name, InText when = InText::kAlways) {
  return {name, "B", ColumnType::kBytes, 0, when};
}

Column decimal_column(const char* name, const char* unit = "", InText when = InText::kAlways) {
  return {name, unit, ColumnType::kDecimal, 1, when};
}

/// each(row, variant, profile of that variant).
template <typename Each>
void each_variant(JsonView results, Each each) {
  for (const JsonView row : results["rows"].items()) {
    for (const char* variant : kVariants) each(row, variant, row[variant]["profile"]);
  }
}

/// A figure of the profiled steps, of one step; counts with a decimal, since not every step need launch the same.
std::int64_t per_step(JsonView figures, std::string_view key, std::int64_t steps) {
  const double scale = key == "gpu_ops" || key == "calls" ? 10 : 1;
  return steps > 0 ? rounded(figures[key], scale / static_cast<double>(steps)) : report::kNull;
}

JsonView range_named(JsonView profile, const std::string& name) {
  for (const JsonView range : profile["ranges"].items()) {
    if (range["range"].text() == name) return range;
  }
  return {};
}

/// The allocator's peak inside of a range, on the device that was measured.
std::int64_t peak_in(JsonView profile, const std::string& range, bool cuda) {
  std::int64_t peak = report::kNull;
  for (const JsonView row : profile["memory"].items()) {
    if (row["range"].text() != range || (row["memory"].text() == "host") == cuda) continue;
    if (row["peak_b"].is_number()) peak = std::max(peak, row["peak_b"].integer());
  }
  return peak;
}

/// Names of ranges of both variants, the baseline's first.
std::vector<std::string> range_names(JsonView row) {
  std::vector<std::string> names;
  for (const char* variant : kVariants) {
    for (const JsonView range : row[variant]["profile"]["ranges"].items()) {
      std::string name = range["range"].text();
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

std::string with_interval(JsonView ratio) {
  if (ratio.is_null()) return "-";
  if (ratio["low"].is_null()) return ratio_text(ratio["value"]) + " [unknown]";
  return fmt::format("{} [{:.3g}, {:.3g}]", ratio_text(ratio["value"]), ratio["low"].number(), ratio["high"].number());
}

}  // namespace

std::int64_t rounded(JsonView value, double scale) {
  return value.is_number() ? std::llround(value.number() * scale) : report::kNull;
}

JsonView metric_named(JsonView variant, const std::string& name) {
  for (const JsonView metric : variant["metrics"].items()) {
    if (metric["name"].text() == name) return metric;
  }
  return {};
}

std::string goal_text(JsonView row) {
  std::string goal = row["goal"].text();
  const std::string state = row["goal_result"]["state"].text();
  if (state.empty()) return goal;
  return goal + ": " + (state == "not_checked" ? "not checked " + row["goal_result"]["reason"].text() : state);
}

std::string ratio_text(double ratio) { return fmt::format("x{:.3g}", ratio); }

std::string ratio_text(JsonView ratio) { return ratio.is_number() ? ratio_text(ratio.number()) : "-"; }

report::Table benchmarks_table(JsonView results) {
  Table table({{"Benchmark"},
               {"Status"},
               {"Goal"},
               {"Measure", {}, ColumnType::kText, 0, InText::kAlways, 4},
               time_column("Baseline"),
               time_column("Optimized"),
               {"Ratio [95 %]"},
               {"Wall ratio", {}, ColumnType::kText, 0, InText::kAlways, 3},
               bytes_column("Peak baseline", InText::kUnlessEmpty),
               bytes_column("Peak optimized", InText::kUnlessEmpty),
               {"Bytes ratio", {}, ColumnType::kText, 0, InText::kAlways, 1},
               {"Expectation", {}, ColumnType::kText, 0, InText::kAlways, 2}});
  for (const JsonView row : results["rows"].items()) {
    const JsonView ratios = row["ratios"];
    const std::string basis = ratios["basis"].text();
    table.text(row["name"].text()).text(row["status"].text()).text(base::printable(goal_text(row)));
    table.text(basis == "cpu_ns" ? "CPU time" : "wall time");
    table.number(rounded(row["baseline"][basis]["p50"])).number(rounded(row["optimized"][basis]["p50"]));
    table.text(with_interval(ratios["time"])).text(ratio_text(ratios["wall"]["value"]));
    table.number(rounded(row["baseline"]["peak_bytes"])).number(rounded(row["optimized"]["peak_bytes"]));
    table.text(ratio_text(ratios["bytes"])).text(row["expectations"]["state"].text("-"));
  }
  return table;
}

report::Table efficiency_table(JsonView results) {
  constexpr InText kSome = InText::kUnlessEmpty;
  Table table({{"Benchmark"},
               {"Variant"},
               {"Goodput", "%", ColumnType::kDecimal, 2},
               time_column("Useful"),
               time_column("Processes"),
               {"FLOPs a step", {}, ColumnType::kFlops, 0, kSome},
               {"Type", {}, ColumnType::kText, 0, kSome},
               decimal_column("MFU", "%", kSome),
               {"Energy a step", "J", ColumnType::kDecimal, 3, kSome},
               {"Energy", "Wh", ColumnType::kDecimal, 3, kSome}});
  each_variant(results, [&](JsonView row, const char* name, JsonView) {
    const JsonView variant = row[name], goodput = variant["goodput"], mfu = variant["mfu"];
    if (goodput.is_null()) return;
    table.text(row["name"].text()).text(name);
    table.number(rounded(goodput["value"], 10000));
    table.number(rounded(goodput["useful_ns"])).number(rounded(goodput["process_ns"]));
    const JsonView flops = variant["work"]["flops"];
    table.number(flops.number() > 0 ? rounded(flops) : report::kNull).text(variant["work"]["flops_type"].text());
    table.number(rounded(mfu["value"], 1000));
    table.number(rounded(variant["energy_j_per_step"], 1000)).number(rounded(variant["process_energy_j"], 1 / 3.6));
  });
  return table;
}

std::string energy_text(JsonView results) {
  const JsonView energy = results["energy"];
  if (energy.is_null()) return {};
  std::string out = fmt::format("energy of the devices: {:.4g} kWh", energy["kwh"].number());
  if (energy["co2e_g"].is_number())
    out += fmt::format(", {:.4g} g CO2e at {:.4g} g/kWh", energy["co2e_g"].number(),
                       energy["carbon_intensity_g_per_kwh"].number());
  return out;
}

report::Table trainings_table(JsonView results) {
  Table table({{"Benchmark"},
               decimal_column("Samples/s baseline"),
               decimal_column("Samples/s optimized"),
               {"Speed-up"},
               bytes_column("Peak baseline"),
               bytes_column("Peak optimized"),
               {"Bytes ratio"},
               decimal_column("Accuracy baseline", "%"),
               decimal_column("Accuracy optimized", "%")});
  for (const JsonView row : results["rows"].items()) {
    if (metric_named(row["baseline"], "accuracy").is_null()) continue;
    table.text(row["name"].text());
    for (const char* variant : kVariants) table.number(rounded(row[variant]["rates"]["samples_per_s"], 10));
    table.text(ratio_text(row["ratios"]["wall"]["value"]));
    for (const char* variant : kVariants) table.number(rounded(row[variant]["peak_bytes"]));
    table.text(ratio_text(row["ratios"]["bytes"]));
    for (const char* variant : kVariants) table.number(rounded(metric_named(row[variant], "accuracy")["value"], 1000));
  }
  return table;
}

report::Table serving_table(JsonView results) {
  Table table({{"Benchmark"},
               time_column("First token baseline"),
               time_column("First token optimized"),
               {"Sooner"},
               decimal_column("Decoded tokens/s baseline"),
               decimal_column("Decoded tokens/s optimized"),
               {"Faster"}});
  const auto ratio = [](JsonView above, JsonView below) {
    return above.number() > 0 && below.number() > 0 ? ratio_text(above.number() / below.number()) : "-";
  };
  for (const JsonView row : results["rows"].items()) {
    const JsonView before = row["baseline"], after = row["optimized"];
    const JsonView first_before = metric_named(before, "first_token_ns")["value"];
    if (first_before.is_null()) continue;
    const JsonView first_after = metric_named(after, "first_token_ns")["value"];
    const JsonView rate_before = metric_named(before, "decode_tokens_per_s")["value"];
    const JsonView rate_after = metric_named(after, "decode_tokens_per_s")["value"];
    table.text(row["name"].text()).number(rounded(first_before)).number(rounded(first_after));
    table.text(ratio(first_before, first_after)).number(rounded(rate_before, 10)).number(rounded(rate_after, 10));
    table.text(ratio(rate_after, rate_before));
  }
  return table;
}

report::Table ranges_table(JsonView results) {
  constexpr InText kSome = InText::kUnlessEmpty;
  Table table({{"Benchmark"},
               {"Range"},
               time_column("Host baseline"),
               time_column("Host optimized"),
               time_column("GPU baseline", kSome),
               time_column("GPU optimized", kSome),
               decimal_column("GPU ops baseline", "", kSome),
               decimal_column("GPU ops optimized", "", kSome),
               time_column("Idle baseline", kSome),
               time_column("Idle optimized", kSome),
               bytes_column("Peak baseline", kSome),
               bytes_column("Peak optimized", kSome)});
  const bool cuda = results["provenance"]["device"].text() == "cuda";
  for (const JsonView row : results["rows"].items()) {
    for (const std::string& name : range_names(row)) {
      table.text(row["name"].text()).text(name);
      for (const char* key : {"host_ns", "gpu_busy_ns", "gpu_ops", "gpu_idle_ns"}) {
        for (const char* variant : kVariants) {
          const JsonView profile = row[variant]["profile"];
          table.number(per_step(range_named(profile, name), key, profile["steps"].integer()));
        }
      }
      for (const char* variant : kVariants) table.number(peak_in(row[variant]["profile"], name, cuda));
    }
  }
  return table;
}

report::Table operators_table(JsonView results) {
  Table table({{"Benchmark"},
               {"Variant"},
               {"Operator"},
               decimal_column("Calls"),
               time_column("Self CPU"),
               time_column("Self device", InText::kUnlessEmpty)});
  const char* const key = results["provenance"]["device"].text() == "cuda" ? "device_self_ns" : "cpu_self_ns";
  each_variant(results, [&](JsonView row, const char* variant, JsonView profile) {
    std::vector<JsonView> operators;
    for (const JsonView each : profile["operators"].items()) operators.push_back(each);
    std::stable_sort(operators.begin(), operators.end(),
                     [&](JsonView a, JsonView b) { return a[key].number() > b[key].number(); });
    operators.resize(std::min(operators.size(), kMaxRows));
    const std::int64_t steps = profile["steps"].integer();
    for (const JsonView each : operators) {
      table.text(row["name"].text()).text(variant).text(each["name"].text());
      const std::int64_t device = per_step(each, "device_self_ns", steps);
      table.number(per_step(each, "calls", steps)).number(per_step(each, "cpu_self_ns", steps));
      table.number(device != 0 ? device : report::kNull);
    }
  });
  return table;
}

report::Table roofline_table(JsonView results) {
  constexpr InText kSome = InText::kUnlessEmpty;
  Table table({{"Benchmark"},
               {"Variant"},
               {"Range or operator"},
               {"FLOPs", {}, ColumnType::kFlops},
               bytes_column("Bytes"),
               {"FLOP a byte", {}, ColumnType::kDecimal, 2},
               {"GFLOP/s", {}, ColumnType::kDecimal, 3},
               {"GB/s", {}, ColumnType::kDecimal, 3},
               {"Types"},
               {"Bound by", {}, ColumnType::kText, 0, kSome},
               decimal_column("Of peak", "%", kSome)});
  each_variant(results, [&](JsonView row, const char* variant, JsonView profile) {
    const std::int64_t steps = profile["steps"].integer();
    for (const char* kind : {"ranges", "operators"}) {
      std::size_t rows = 0;
      for (const JsonView point : profile["roofline"][kind].items()) {
        if (!(point["flops"].number() > 0) || rows++ == kMaxRows) continue;
        const std::string name = point[std::string_view(kind) == "ranges" ? "range" : "operator"].text();
        table.text(row["name"].text()).text(variant).text(name);
        table.number(per_step(point, "flops", steps)).number(per_step(point, "bytes_b", steps));
        table.number(rounded(point["flop_a_byte"], 100)).number(rounded(point["gflop_s"], 1000));
        table.number(rounded(point["gb_s"], 1000)).text(point["types"].text()).text(point["bound_by"].text());
        table.number(rounded(point["of_peak_percent"], 10));
      }
    }
  });
  return table;
}

report::Table functions_table(JsonView results) {
  Table table({{"Benchmark"},
               {"Variant"},
               {"Function"},
               time_column("Self CPU"),
               time_column("Total CPU"),
               decimal_column("Share of samples", "%")});
  each_variant(results, [&](JsonView row, const char* variant, JsonView profile) {
    const JsonView samples = profile["host_samples"];
    const std::int64_t steps = profile["steps"].integer();
    const double all_ns = samples["cpu_ns"].number();
    const std::vector<JsonView> functions = samples["functions"].items();
    for (std::size_t i = 0; i < std::min(functions.size(), kMaxRows); ++i) {
      const JsonView each = functions[i];
      if (each["self_ns"].integer() == 0) break;
      table.text(row["name"].text()).text(variant).text(each["name"].text());
      table.number(per_step(each, "self_ns", steps)).number(per_step(each, "total_ns", steps));
      table.number(all_ns > 0 ? rounded(each["self_ns"], 1000 / all_ns) : report::kNull);
    }
  });
  return table;
}

report::Table allocator_table(JsonView results) {
  Table table({{"Benchmark"},
               {"Variant"},
               {"Memory"},
               bytes_column("Reserved"),
               bytes_column("Allocated"),
               bytes_column("Requested"),
               decimal_column("External fragmentation", "%"),
               decimal_column("Internal fragmentation", "%")});
  each_variant(results, [&](JsonView row, const char* variant, JsonView profile) {
    for (const JsonView count : profile["allocator"].items()) {
      if (count["count"].text() != "last") continue;
      table.text(row["name"].text()).text(variant).text(count["memory"].text());
      for (const char* key : {"reserved_b", "allocated_b", "requested_b"}) table.number(rounded(count[key]));
      for (const char* key : {"external_fragmentation_percent", "internal_fragmentation_percent"})
        table.number(rounded(count[key], 10));
    }
  });
  return table;
}

report::Table overhead_table(JsonView results) {
  Table table(
      {{"Benchmark"}, {"Variant"}, {"Profile"}, decimal_column("CPU added", "%"), decimal_column("Wall added", "%")});
  each_variant(results, [&](JsonView row, const char* variant, JsonView profile) {
    if (profile.is_null()) return;
    table.text(row["name"].text()).text(variant).text(results["provenance"]["profile"].text());
    for (const char* key : {"cpu_overhead", "wall_overhead"}) table.number(rounded(profile[key], 1000));
  });
  return table;
}

std::vector<std::string> remarks(JsonView results) {
  std::vector<std::string> out;
  for (const JsonView row : results["rows"].items()) {
    const std::string name = row["name"].text(), status = row["status"].text(), reason = row["reason"].text();
    if (status == "failed") {
      out.push_back(fmt::format("{}: failed: {}{}", name, reason, logs_text(row)));
    } else if (!reason.empty()) {
      out.push_back(fmt::format("{}: {}: {}", name, status, reason));
    }
    if (const std::string conflict = row["expectations"]["conflict"].text(); !conflict.empty())
      out.push_back(fmt::format("{}: stored expectations are of other conditions: {}", name, conflict));
    if (row["expectations"]["state"].text() == "missing")
      out.push_back(name + ": expectations are stored, and there is no result of it");
  }
  for (const JsonView note : results["notes"].items()) out.push_back(note.text());
  return out;
}

}  // namespace rangefinder::bench
