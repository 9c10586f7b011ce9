// SPDX-License-Identifier: MIT
// The result of a gate for programs: JSON, and the XML of JUnit.
#include "base/json_writer.hpp"
#include "base/markup.hpp"
#include "compare/compared_side.hpp"
#include "compare/gate_report.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace rangefinder::compare {
namespace {

constexpr int kSchemaVersion = 1;

void append_json(std::string& out, const GateCheck& check) {
  out += '{';
  base::JsonWriter(out)
      .text("verdict", to_string(check.verdict))
      .text("rule", check.rule)
      .text("metric", check.metric)
      .text("statistic", check.statistic)
      .text("unit", check.unit)
      .number("baseline", check.baseline)
      .number("candidate", check.candidate)
      .boolean("is_share", check.is_share)
      .number("limit", check.limit)
      .number("change", check.change)
      .number("change_low", check.change_low)
      .number("change_high", check.change_high)
      .text("reason", check.reason);
  out += '}';
}

}  // namespace

std::string gate_json(const GateResult& result) {
  std::string out = "{";
  base::JsonWriter members(out);
  members.number("schema_version", kSchemaVersion).text("verdict", to_string(result.verdict));
  append_json(members.key("baseline"), result.baseline);
  append_json(members.key("candidate"), result.candidate);
  members.key("checks") += '[';
  for (std::size_t i = 0; i < result.checks.size(); ++i) {
    if (i != 0) out += ',';
    append_json(out, result.checks[i]);
  }
  out += ']';
  members.texts("notes", result.notes);
  return out + "}\n";
}

std::string gate_junit(const GateResult& result) {
  const auto count = [&](GateVerdict verdict) {
    return std::to_string(std::count_if(result.checks.begin(), result.checks.end(),
                                        [&](const GateCheck& check) { return check.verdict == verdict; }));
  };
  const std::string counts = "tests=\"" + std::to_string(result.checks.size()) + "\" failures=\"" +
                             count(GateVerdict::kRegression) + "\" errors=\"0\" skipped=\"" +
                             count(GateVerdict::kCannotTell) + "\"";
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts +
                    ">\n  <testsuite name=\"rangefinder gate\" " + counts + ">\n";
  for (const GateCheck& check : result.checks) {
    out += "    <testcase classname=\"" + base::markup_escaped(check.rule) + "\" name=\"" +
           base::markup_escaped(check.metric + " " + check.statistic) + "\"";
    const std::string message = " message=\"" + base::markup_escaped(check_sentence(check)) + "\"/>\n    </testcase>\n";
    if (check.verdict == GateVerdict::kRegression)
      out += ">\n      <failure type=\"regression\"" + message;
    else if (check.verdict == GateVerdict::kCannotTell)
      out += ">\n      <skipped" + message;
    else
      out += "/>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace rangefinder::compare
