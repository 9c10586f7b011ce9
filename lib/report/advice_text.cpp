// SPDX-License-Identifier: MIT
#include "report/advice_text.hpp"

#include "base/colour.hpp"
#include "base/text.hpp"
#include "report/columns.hpp"
#include "report/units.hpp"
#include "report/wrapped.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::report {
namespace {

constexpr std::size_t kIndent = 4;
constexpr std::size_t kAdviceLabel = 8;  // "change  "
// Prose is read in lines of at most so many columns, however wide the terminal.
constexpr std::size_t kWidestLine = 110;

std::size_t line_width(const TextOptions& options) noexcept {
  return options.width == 0 ? kWidestLine : std::min(options.width, kWidestLine);
}

/// Each line behind a margin.
std::string indented(std::string_view text) {
  const std::string margin(kIndent, ' ');
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out.append(line.empty() ? "" : margin).append(line).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string labelled(std::string_view label, std::string_view text, const TextOptions& options) {
  std::string line(kIndent, ' ');
  line.append(label).append(kAdviceLabel - label.size(), ' ').append(base::printable(text));
  return wrapped(line, line_width(options), kIndent + kAdviceLabel) + "\n";
}

/// "12.0 %"; of a length above 0.
std::string share_text(std::int64_t part_ns, std::int64_t whole_ns) {
  const double permille = static_cast<double>(part_ns) / static_cast<double>(whole_ns) * 1000;
  return plain_number(static_cast<std::int64_t>(std::min(permille, 1000.0)), 1) + " %";
}

/// "cudaStreamSynchronize in aten::item".
std::string what_text(const AdviceEvidence& row) { return row.op.empty() ? row.what : row.what + " in " + row.op; }

Table evidence_table(const AdviceFinding& finding, bool has_steps) {
  ColumnsOf<AdviceEvidence> columns;
  const bool anywhere = std::any_of(finding.evidence.begin(), finding.evidence.end(),
                                    [](const AdviceEvidence& row) { return !row.where.empty(); });
  const bool timed = std::any_of(finding.evidence.begin(), finding.evidence.end(),
                                 [](const AdviceEvidence& row) { return row.time_ns != 0; });
  if (anywhere) columns.text("Where", [](const AdviceEvidence& row) { return row.where; });
  columns.kernel("What", what_text);
  columns.count(timed && has_steps ? "A step" : "Count", [](const AdviceEvidence& row) { return row.count; });
  if (timed) columns.time(has_steps ? "Time a step" : "Time", [](const AdviceEvidence& row) { return row.time_ns; });
  return columns.table_of(finding.evidence);
}

std::string finding_text(const Advice& advice, std::size_t number, const TextOptions& options) {
  const AdviceFinding& finding = advice.findings[number];
  std::string head = std::to_string(number + 1) + ".  ";
  if (head.size() > kIndent) head = std::to_string(number + 1) + ". ";
  head += "Up to " + gain_text(advice, finding) + ": " + base::printable(finding.headline);
  std::string out = wrapped(head, line_width(options), kIndent) + "\n";
  if (!finding.evidence.empty()) {
    TextOptions narrower = options;
    if (options.width > 2 * kIndent) narrower.width -= kIndent;
    out += indented(to_text(evidence_table(finding, advice.steps != 0), narrower));
  }
  out += labelled("change", finding.change, options);
  out += labelled("check", finding.check, options);
  out += labelled("rule", to_string(finding.rule), options);
  return out;
}

/// What is missing, and for which rules: several may lack the same.
std::vector<std::pair<std::string, std::string>> missing_of(const Advice& advice) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const AdviceAbstention& one : advice.abstentions) {
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const auto& other) { return other.first == one.missing; });
    if (same == out.end())
      out.emplace_back(one.missing, to_string(one.rule));
    else
      same->second.append(", ").append(to_string(one.rule));
  }
  return out;
}

std::string step_text(const Advice& advice) {
  if (advice.steps == 0) return "All of the recording, " + readable_time(advice.step_ns) + ": it has no steps.";
  return "A step takes " + readable_time(advice.step_ns) + ", the mean of " + base::with_thousands(advice.steps) +
         (advice.steps == 1 ? " step" : " steps") + ". Gains are upper bounds and may overlap: do not add them up.";
}

}  // namespace

std::string gain_text(const Advice& advice, const AdviceFinding& finding) {
  if (finding.gain_ns == 0 && finding.gain_bytes > 0) return readable_bytes(finding.gain_bytes) + " of memory";
  std::string text = readable_time(finding.gain_ns) + (advice.steps != 0 ? " a step" : "");
  if (advice.step_ns <= 0) return text;
  text += " (" + share_text(finding.gain_ns, advice.step_ns);
  // By that findings are in order.
  if (finding.own_gain_ns < finding.gain_ns)
    text += "; " + share_text(finding.own_gain_ns, advice.step_ns) + " beyond other causes";
  return text + ")";
}

std::string advice_text(const Advice& advice, const TextOptions& options) {
  std::string out = wrapped(base::printable(advice.verdict) + ".", line_width(options), 0) + "\n\n";
  if (advice.step_ns > 0) out += wrapped(step_text(advice), line_width(options), 0) + "\n\n";
  for (std::size_t i = 0; i < advice.findings.size(); ++i) out += finding_text(advice, i, options) + "\n";
  if (advice.abstentions.empty()) return out;
  out += "Not judged, because this is not in the data:\n";
  for (const auto& [missing, rules] : missing_of(advice))
    out += wrapped("  - " + base::printable(missing) + " (" + rules + ")", line_width(options), kIndent) + "\n";
  return out;
}

}  // namespace rangefinder::report
