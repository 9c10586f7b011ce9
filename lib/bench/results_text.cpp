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
std::string conditions(const Json& results) {
  const Json& p = results["provenance"];
  std::string out = fmt::format("{}, device {}, size {}, profile {}, seed {}", p["hardware_key"].text(),
                                p["device"].text(), p["size"].text(), p["profile"].text(), results["seed"].integer());
  for (const char* key : {"torch", "cuda", "driver"}) {
    if (const std::string version = p[key].text(); !version.empty()) out += fmt::format(", {} {}", key, version);
  }
  if (const std::string commit = p["commit"].text(); !commit.empty()) out += ", commit " + commit.substr(0, 12);
  return out;
}

}  // namespace

Result<std::string> results_table(const std::string& json, const TextStyle& style) {
  const Result<Json> results = results_from(json);
  if (!results) return results.error();
  const report::TextOptions options{style.utf8, style.colour, style.width};
  std::string out = report::to_text(pairs_table(*results), options);
  if (const report::Table ranges = ranges_table(*results); ranges.row_count() != 0)
    out += "\nA profiled step, host time and device time a range:\n" + report::to_text(ranges, options);
  if (const report::Table operators = operators_table(*results); operators.row_count() != 0)
    out += "\nA profiled step, the costliest operators:\n" + report::to_text(operators, options);
  if (const report::Table overhead = overhead_table(*results); overhead.row_count() != 0)
    out += "\nWhat recording added to a step:\n" + report::to_text(overhead, options);
  out += "\n" + base::printable(conditions(*results)) + "\n";
  for (const std::string& remark : remarks(*results)) out += base::printable(remark) + "\n";
  return out;
}

Result<std::string> results_markdown(const std::string& json) {
  const Result<Json> results = results_from(json);
  if (!results) return results.error();
  std::string out = "# Baseline and optimized\n\n" + base::printable(conditions(*results)) + ".\n\n";
  out += markdown_of(pairs_table(*results));
  if (const report::Table ranges = ranges_table(*results); ranges.row_count() != 0)
    out += "\n## Ranges of a profiled step\n\n" + markdown_of(ranges);
  if (const report::Table operators = operators_table(*results); operators.row_count() != 0)
    out += "\n## Costliest operators of a profiled step\n\n" + markdown_of(operators);
  if (const report::Table overhead = overhead_table(*results); overhead.row_count() != 0)
    out += "\n## What recording added\n\n" + markdown_of(overhead);
  if (const std::vector<std::string> all = remarks(*results); !all.empty()) {
    out += "\n## Remarks\n\n";
    for (const std::string& remark : all) out += "- " + base::printable(remark) + "\n";
  }
  return out;
}

}  // namespace rangefinder::bench
