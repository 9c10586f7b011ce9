// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "bench/results.hpp"
#include "bench/results_tables.hpp"
#include "report/text_table.hpp"

#include <rangefinder/bench/harness.hpp>

#include <fmt/format.h>

namespace rangefinder::bench {
namespace {

/// Where and how, one line.
std::string conditions(JsonView results) {
  const JsonView p = results["provenance"];
  std::string out = fmt::format("{}, device {}, size {}, profile {}, seed {}", p["hardware_key"].text(),
                                p["device"].text(), p["size"].text(), p["profile"].text(), results["seed"].integer());
  if (const std::int64_t ranks = p["ranks"].integer(1); ranks > 1) out += fmt::format(", ranks {}", ranks);
  for (const char* key : {"torch", "cuda", "driver"}) {
    if (const std::string version = p[key].text(); !version.empty()) out += fmt::format(", {} {}", key, version);
  }
  if (const std::string commit = p["commit"].text(); !commit.empty()) out += ", commit " + commit.substr(0, 12);
  return out;
}

/// What follows the benchmarks; left out where it has no rows.
struct Part {
  const char* caption;
  const char* heading;
  report::Table (*table)(JsonView results);
};

constexpr Part kParts[] = {
    {"What changes to a training bring", "Changes to a training", trainings_table},
    {"Requests: until the first token, and decoding after it", "First token and decoding", serving_table},
    {"What of the processes' time, the machine and energy steps used", "Goodput, MFU and energy", efficiency_table},
    {"A profiled step, host time and device time a range", "Ranges of a profiled step", ranges_table},
    {"A profiled step, the costliest operators", "Costliest operators of a profiled step", operators_table},
    {"A profiled step under the roofline", "Roofline of a profiled step", roofline_table},
    {"A profiled step, the host's CPU time by samples", "Functions of the host in a profiled step", functions_table},
    {"What the device's allocator held after the profiled steps", "Allocator of the device", allocator_table},
    {"What recording added to a step", "What recording added", overhead_table},
};

}  // namespace

Result<std::string> results_table(const std::string& json, const TextStyle& style) {
  const Result<Json> results = results_from(json);
  if (!results) return results.error();
  const report::TextOptions options{style.utf8, style.colour, style.width};
  std::string out = report::to_text(benchmarks_table(*results), options);
  for (const Part& part : kParts) {
    if (const report::Table table = part.table(*results); table.row_count() != 0)
      out += fmt::format("\n{}:\n{}", part.caption, report::to_text(table, options));
  }
  out += "\n" + base::printable(conditions(*results)) + "\n";
  if (const std::string energy = energy_text(*results); !energy.empty()) out += energy + "\n";
  for (const std::string& remark : remarks(*results)) out += base::printable(remark) + "\n";
  return out;
}

Result<std::string> results_markdown(const std::string& json) {
  const Result<Json> results = results_from(json);
  if (!results) return results.error();
  std::string out = "# Baseline and optimized\n\n" + base::printable(conditions(*results)) + ".\n\n";
  if (const std::string energy = energy_text(*results); !energy.empty()) out += "The run: " + energy + ".\n\n";
  out += markdown_of(benchmarks_table(*results));
  for (const Part& part : kParts) {
    if (const report::Table table = part.table(*results); table.row_count() != 0)
      out += fmt::format("\n## {}\n\n{}", part.heading, markdown_of(table));
  }
  if (const std::vector<std::string> all = remarks(*results); !all.empty()) {
    out += "\n## Remarks\n\n";
    for (const std::string& remark : all) out += "- " + base::printable(remark) + "\n";
  }
  return out;
}

}  // namespace rangefinder::bench
