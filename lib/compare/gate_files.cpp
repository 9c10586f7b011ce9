// SPDX-License-Identifier: MIT
// The result of a gate for programs: JSON, and the XML of JUnit.
#include "base/markup.hpp"
#include "base/text.hpp"
#include "compare/gate_report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>

namespace rangefinder::compare {
namespace {

constexpr int kSchemaVersion = 1;

/// The shortest text that reads as the same number; null for what is not finite.
std::string number_text(double value) {
  if (!std::isfinite(value)) return "null";
  char buffer[32];
  const auto written = std::to_chars(std::begin(buffer), std::end(buffer), value);
  return {std::begin(buffer), written.ptr};
}

/// Members of a JSON object.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  Members& text(std::string_view key, std::string_view value) {
    name(key);
    base::append_json_string(out_, value);
    return *this;
  }
  Members& json(std::string_view key, std::string_view value) {
    name(key);
    out_ += value;
    return *this;
  }
  Members& number(std::string_view key, double value) { return json(key, number_text(value)); }
  void end() { out_ += '}'; }

 private:
  void name(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    base::append_json_string(out_, key);
    out_ += ':';
  }

  std::string& out_;
  bool first_ = true;
};

std::string json_of(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    base::append_json_string(out, text);
  }
  return out + "]";
}

std::string json_of(const ComparedSide& side) {
  std::string out;
  Members(out)
      .json("runs", json_of(side.runs))
      .json("steps", std::to_string(side.steps))
      .json("warm_up_steps", std::to_string(side.warm_up))
      .json("devices", json_of(side.devices))
      .text("cpu", side.cpu)
      .text("driver", side.driver)
      .end();
  return out;
}

std::string json_of(const GateCheck& check) {
  std::string out;
  Members(out)
      .text("verdict", to_string(check.verdict))
      .text("rule", check.rule)
      .text("metric", check.metric)
      .text("statistic", check.statistic)
      .text("unit", check.unit)
      .number("baseline", check.baseline)
      .number("candidate", check.candidate)
      .json("is_share", check.is_share ? "true" : "false")
      .number("limit", check.limit)
      .number("change", check.change)
      .number("change_low", check.change_low)
      .number("change_high", check.change_high)
      .text("reason", check.reason)
      .end();
  return out;
}

}  // namespace

std::string gate_json(const GateResult& result) {
  std::string checks = "[";
  for (const GateCheck& check : result.checks) {
    if (checks.size() > 1) checks += ',';
    checks += json_of(check);
  }
  std::string out;
  Members(out)
      .json("schema_version", std::to_string(kSchemaVersion))
      .text("verdict", to_string(result.verdict))
      .json("baseline", json_of(result.baseline))
      .json("candidate", json_of(result.candidate))
      .json("checks", checks + "]")
      .json("notes", json_of(result.notes))
      .end();
  return out + "\n";
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
