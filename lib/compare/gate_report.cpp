// SPDX-License-Identifier: MIT
#include "compare/gate_report.hpp"

#include "base/text.hpp"
#include "report/markdown.hpp"
#include "report/text_table.hpp"
#include "report/units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rangefinder::compare {
namespace {

std::size_t count_of(const GateResult& result, GateVerdict verdict) {
  return static_cast<std::size_t>(std::count_if(result.checks.begin(), result.checks.end(),
                                                [&](const GateCheck& check) { return check.verdict == verdict; }));
}

std::int64_t rounded(double value) noexcept {
  constexpr double kMost = 9e18;
  return std::llround(std::clamp(value, -kMost, kMost));
}

/// Tenths of a percent; of shares that are not finite, or beyond all reason, the word.
std::string percent_text(double share) {
  if (!(std::abs(share) < 1e9)) return share > 0 ? "more" : "less";
  const std::int64_t tenths = rounded(share * 1000);
  const std::uint64_t size = tenths < 0 ? -static_cast<std::uint64_t>(tenths) : static_cast<std::uint64_t>(tenths);
  return (tenths < 0 ? "-" : "+") + std::to_string(size / 10) + "." + std::to_string(size % 10) + " %";
}

/// A rule without a `*` is always shown; of the others what did not pass.
bool is_shown(const GateCheck& check) noexcept {
  return check.verdict != GateVerdict::kPass || check.rule.find('*') == std::string::npos;
}

report::Table table_of(const GateResult& result) {
  report::Table table({{"Verdict"},
                       {.title = "Metric", .names_rows = true},
                       {"Statistic"},
                       {"Baseline"},
                       {"Candidate"},
                       {"Change"},
                       {"Interval"},
                       {"Fails if"},
                       {.title = "Why", .in_text = report::InText::kUnlessEmpty}});
  for (const GateCheck& check : result.checks) {
    if (!is_shown(check)) continue;
    const bool told = check.verdict != GateVerdict::kCannotTell || check.change_low != check.change_high;
    const std::string interval =
        told ? amount_text(check, check.change_low) + " to " + amount_text(check, check.change_high) : std::string();
    table.text(to_string(check.verdict)).text(check.metric).text(check.statistic);
    table.text(figure_text(check, check.baseline)).text(figure_text(check, check.candidate));
    table.text(told ? amount_text(check, check.change) : std::string()).text(interval).text(check.rule);
    if (check.reason.empty())
      table.null();
    else
      table.text(check.reason);
  }
  return table;
}

std::string side_text(const ComparedSide& side) {
  const auto counted = [](std::uint64_t count, std::string_view word) {
    return base::with_thousands(count) + " " + std::string(word) + (count == 1 ? "" : "s");
  };
  return counted(side.runs.size(), "run") + ", " + counted(side.steps, "step") +
         (side.warm_up == 0 ? "" : " (" + base::with_thousands(side.warm_up) + " of warm-up left out)");
}

std::string hidden_text(const GateResult& result) {
  const auto hidden = std::count_if(result.checks.begin(), result.checks.end(),
                                    [](const GateCheck& check) { return !is_shown(check); });
  if (hidden == 0) return {};
  return base::with_thousands(static_cast<std::uint64_t>(hidden)) + " more found by * " + (hidden == 1 ? "is" : "are") +
         " within the limit";
}

std::string gate_text(const GateResult& result, const GateTextOptions& options) {
  std::string out = gate_sentence(result) + "\nbaseline: " + side_text(result.baseline) +
                    "\ncandidate: " + side_text(result.candidate) + "\n";
  const report::Table table = table_of(result);
  if (table.row_count() != 0)
    out += "\n" + report::to_text(table, {.utf8 = options.utf8, .colour = options.colour, .width = options.width});
  if (const std::string hidden = hidden_text(result); !hidden.empty()) out += hidden + "\n";
  for (const std::string& note : result.notes) out += "note: " + base::printable(note) + "\n";
  return out;
}

std::string gate_markdown(const GateResult& result) {
  std::string out = "### Performance gate: " + gate_sentence(result) + "\n";
  const report::Table table = table_of(result);
  if (table.row_count() != 0) out += "\n" + report::markdown_of(table);
  if (const std::string hidden = hidden_text(result); !hidden.empty()) out += "\n" + hidden + ".\n";
  out += "\nBaseline: " + side_text(result.baseline) + ". Candidate: " + side_text(result.candidate) + ".\n";
  for (const std::string& note : result.notes) out += "- " + report::markdown_text(base::printable(note)) + "\n";
  return out;
}

}  // namespace

std::string gate_sentence(const GateResult& result) {
  const std::size_t past = count_of(result, GateVerdict::kRegression);
  const std::size_t untold = count_of(result, GateVerdict::kCannotTell);
  const std::size_t all = result.checks.size();
  std::string out = to_string(result.verdict);
  out += ": " + base::with_thousands(past) + " of " + base::with_thousands(all) + (all == 1 ? " metric" : " metrics") +
         " past the limit";
  if (untold != 0) out += ", " + base::with_thousands(untold) + " cannot be told";
  return out;
}

std::string figure_text(const GateCheck& check, double value) {
  if (check.unit == "ns") return report::readable_time(rounded(value));
  if (check.unit == "B") return report::readable_bytes(rounded(value));
  return report::readable_real(value) + (check.unit.empty() ? "" : " /s");
}

std::string amount_text(const GateCheck& check, double amount) {
  if (check.is_share) return percent_text(amount);
  return (amount < 0 ? "-" : "+") + figure_text(check, std::abs(amount));
}

std::string check_sentence(const GateCheck& check) {
  std::string out = check.metric + " " + check.statistic + ": " + figure_text(check, check.baseline) + ", now " +
                    figure_text(check, check.candidate) + ": " + amount_text(check, check.change) + " (" +
                    amount_text(check, check.change_low) + " to " + amount_text(check, check.change_high) +
                    "), limit " + amount_text(check, check.limit);
  return check.reason.empty() ? out : out + "; " + check.reason;
}

}  // namespace rangefinder::compare

namespace rangefinder {

Status write_gate(const GateResult& result, const GateTextOptions& options,
                  const std::function<bool(std::string_view)>& sink) {
  const std::string text = [&] {
    switch (options.format) {
      case GateFormat::kJson:
        return compare::gate_json(result);
      case GateFormat::kMarkdown:
        return compare::gate_markdown(result);
      case GateFormat::kJunit:
        return compare::gate_junit(result);
      case GateFormat::kText:
        break;
    }
    return compare::gate_text(result, options);
  }();
  if (!sink(text)) return Error(ErrorCode::kIo, "write the result of a gate: the output was closed");
  return {};
}

}  // namespace rangefinder
