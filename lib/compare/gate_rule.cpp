// SPDX-License-Identifier: MIT
#include "compare/gate_rule.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rangefinder::compare {
namespace {

struct UnitWord {
  std::string_view word;
  LimitUnit unit;
  double factor;
};
constexpr std::array<UnitWord, 10> kUnits = {{{"%", LimitUnit::kShare, 0.01},
                                              {"ns", LimitUnit::kNanoseconds, 1},
                                              {"us", LimitUnit::kNanoseconds, 1e3},
                                              {"ms", LimitUnit::kNanoseconds, 1e6},
                                              {"s", LimitUnit::kNanoseconds, 1e9},
                                              {"B", LimitUnit::kBytes, 1},
                                              {"KiB", LimitUnit::kBytes, 0x1p10},
                                              {"MiB", LimitUnit::kBytes, 0x1p20},
                                              {"GiB", LimitUnit::kBytes, 0x1p30},
                                              {"", LimitUnit::kNone, 1}}};

/// A part of the text, and where it stands.
struct Part {
  std::string_view text;
  std::size_t at = 0;

  Part trimmed() const noexcept {
    Part out = *this;
    while (!out.text.empty() && (out.text.front() == ' ' || out.text.front() == '\t')) {
      out.text.remove_prefix(1);
      ++out.at;
    }
    while (!out.text.empty() && (out.text.back() == ' ' || out.text.back() == '\t')) out.text.remove_suffix(1);
    return out;
  }
};

Error problem_at(std::string_view rule, std::size_t at, std::string_view what) {
  return {ErrorCode::kInvalidArgument,
          "rule \"" + base::printable(rule) + "\", column " + std::to_string(at + 1) + ": " + std::string(what)};
}

std::optional<Statistic> statistic_of(std::string_view word) noexcept {
  if (word == "mean") return Statistic::mean();
  if (word == "fast") return Statistic::fast();
  if (word == "median") return Statistic::quantile(0.5);
  if (word == "min") return Statistic::quantile(0);
  if (word == "max") return Statistic::quantile(1);
  if (word.size() < 2 || word.front() != 'p') return std::nullopt;
  const std::optional<unsigned> percent = base::number_in<unsigned>(word.substr(1));
  if (!percent || *percent > 100) return std::nullopt;
  return Statistic::quantile(*percent / 100.0);
}

/// "p101", "p-1": what looks like a percentile, and is none.
bool looks_like_percentile(std::string_view word) noexcept {
  return word.size() > 1 && word.front() == 'p' &&
         std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Status read_metric(std::string_view rule, Part part, GateRule& out) {
  part = part.trimmed();
  if (part.text.empty())
    return problem_at(rule, part.at, "the name of a metric is missing, such as step or memory.peak");
  const std::size_t dot = part.text.rfind('.');
  if (dot != std::string_view::npos) {
    const std::string_view word = part.text.substr(dot + 1);
    out.statistic = statistic_of(word);
    if (out.statistic) {
      if (dot == 0) return problem_at(rule, part.at, "the name of a metric is missing, such as step or memory.peak");
      part.text = part.text.substr(0, dot);
    } else if (looks_like_percentile(word)) {
      return problem_at(rule, part.at + dot + 1,
                        "there is no percentile " + base::printable(word) + "; they go from p0 to p100");
    }
  }
  out.metric = part.text;
  return {};
}

Status read_limit(std::string_view rule, Part part, GateRule& out) {
  part = part.trimmed();
  if (!part.text.empty() && part.text.front() == '=')
    return problem_at(rule, part.at, "there is no >= and no <=; write > or <");
  if (part.text.empty()) return problem_at(rule, part.at, "a limit is missing, such as +2% or +100MiB");
  if (part.text.front() != '+' && part.text.front() != '-')
    return problem_at(
        rule, part.at,
        "a limit is a change from the baseline and begins with + or -; write +" + base::printable(part.text));
  const std::size_t digits = std::min(part.text.find_first_not_of("0123456789.", 1), part.text.size());
  const std::optional<double> number = base::number_in<double>(part.text.substr(1, digits - 1));
  if (!number) return problem_at(rule, part.at + 1, "a number is missing behind the sign, as in +2%");
  const Part unit = Part{part.text.substr(digits), part.at + digits}.trimmed();
  const auto* const known =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const UnitWord& word) { return word.word == unit.text; });
  if (known == kUnits.end())
    return problem_at(rule, unit.at,
                      "there is no unit \"" + base::printable(unit.text) +
                          "\"; there are %, ns, us, ms, s, B, KiB, MiB, GiB, and none for counts");
  out.unit = known->unit;
  out.limit = *number * known->factor * (part.text.front() == '-' ? -1 : 1);
  return {};
}

}  // namespace

Result<GateRule> parse_gate_rule(std::string_view text) {
  GateRule out;
  out.text = Part{text}.trimmed().text;
  // The last one: names of operators have them too ("at::native::copy<float>").
  const std::size_t at = text.find_last_of("<>");
  if (at == std::string_view::npos)
    return problem_at(text, text.size(), "no > or <; a rule is METRIC > LIMIT, such as step.p50 > +2%");
  out.above = text[at] == '>';
  if (Status read = read_limit(text, {text.substr(at + 1), at + 1}, out); !read) return read.error();
  if (Status read = read_metric(text, {text.substr(0, at), 0}, out); !read) return read.error();
  return out;
}

Statistic default_statistic(MetricUnit unit) noexcept {
  switch (unit) {
    case MetricUnit::kNanoseconds:
      return Statistic::fast();
    case MetricUnit::kPerSecond:
      return Statistic::quantile(0.95);
    case MetricUnit::kBytes:
      return Statistic::quantile(1);
    case MetricUnit::kCount:
      break;
  }
  return Statistic::mean();
}

std::string name_of(Statistic statistic) {
  if (statistic.kind == Statistic::Kind::kMean) return "mean";
  if (statistic.kind == Statistic::Kind::kFast) return "fast";
  return "p" + std::to_string(std::lround(statistic.share * 100));
}

bool fits(LimitUnit limit, MetricUnit metric) noexcept {
  switch (limit) {
    case LimitUnit::kShare:
      return true;
    case LimitUnit::kNanoseconds:
      return metric == MetricUnit::kNanoseconds;
    case LimitUnit::kBytes:
      return metric == MetricUnit::kBytes;
    case LimitUnit::kNone:
      break;
  }
  return metric == MetricUnit::kCount || metric == MetricUnit::kPerSecond;
}

}  // namespace rangefinder::compare
