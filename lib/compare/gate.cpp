// SPDX-License-Identifier: MIT
#include "compare/gate.hpp"

#include "base/text.hpp"
#include "base/wildcard.hpp"
#include "compare/compared_side.hpp"
#include "compare/metric_changes.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace rangefinder::compare {
namespace {

/// A metric that a rule is put to, with what the runs say of it.
struct Question {
  const GateRule* rule = nullptr;
  Metric metric;
  Statistic statistic;
  Change change;
  std::optional<Change> relative{};
};

Limit limit_of(const GateRule& rule) noexcept { return {rule.limit, rule.unit == LimitUnit::kShare}; }

/// "path.busy:*" is about figures of subjects, which are not listed otherwise.
bool is_about_figures(std::string_view metric) noexcept {
  const std::size_t colon = metric.find(':');
  return colon != std::string_view::npos && metric.substr(0, colon).find('.') != std::string_view::npos;
}

std::string_view word_of(MetricUnit unit) noexcept {
  switch (unit) {
    case MetricUnit::kNanoseconds:
      return "ns";
    case MetricUnit::kBytes:
      return "B";
    case MetricUnit::kPerSecond:
      return "1/s";
    case MetricUnit::kCount:
      break;
  }
  return "";
}

/// Collects questions, and answers them together.
class Gate {
 public:
  Gate(std::span<const Run> baseline, std::span<const Run> candidate, const GateOptions& options)
      : before_(baseline), after_(candidate), times_(baseline, candidate), options_(options) {
    statistics_.confidence = options.confidence;
    statistics_.assumed_run_spread = options.assumed_run_spread;
    for (const bool figures : {false, true}) {
      std::vector<Metric>& metrics = figures ? all_metrics_ : metrics_;
      metrics = metrics_of(baseline, figures);
      std::set<std::string_view> known;
      for (const Metric& metric : metrics) known.insert(metric.name);
      std::vector<Metric> more = metrics_of(candidate, figures);
      std::erase_if(more, [&](const Metric& metric) { return known.contains(metric.name); });
      metrics.insert(metrics.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
  }

  Status ask(const GateRule& rule, bool optional) {
    bool found = false;
    for (const Metric& metric : is_about_figures(rule.metric) ? all_metrics_ : metrics_) {
      if (!base::fits_wildcard(rule.metric, metric.name)) continue;
      found = true;
      if (Status asked = ask(rule, metric); !asked) return asked;
    }
    if (found || optional) return {};
    return not_found(rule);
  }

  GateResult answer() {
    GateResult out;
    std::vector<double> chances;
    for (const Question& question : questions_) {
      const Limit limit = limit_of(*question.rule);
      chances.push_back(chance_if_not_beyond(question.change, limit, question.rule->above));
      if (question.relative) chances.push_back(chance_if_not_beyond(*question.relative, limit, question.rule->above));
    }
    const std::vector<double> adjusted = adjusted_p_values(chances);
    auto next = adjusted.begin();
    for (const Question& question : questions_) {
      const double chance = *next++;
      out.checks.push_back(checked(question, chance, question.relative ? *next++ : 1));
    }
    std::stable_sort(out.checks.begin(), out.checks.end(),
                     [](const GateCheck& a, const GateCheck& b) { return rank_of(a.verdict) < rank_of(b.verdict); });
    if (!out.checks.empty()) out.verdict = out.checks.front().verdict;
    add_notes(out);
    return out;
  }

 private:
  static int rank_of(GateVerdict verdict) noexcept {
    return verdict == GateVerdict::kRegression ? 0 : verdict == GateVerdict::kCannotTell ? 1 : 2;
  }

  Status ask(const GateRule& rule, const Metric& metric) {
    if (!fits(rule.unit, metric.unit))
      return Error(ErrorCode::kInvalidArgument,
                   "rule \"" + base::printable(rule.text) + "\": " + base::printable(metric.name) + " is in " +
                       (metric.unit == MetricUnit::kNanoseconds ? "ns: give its limit in %, ns, us, ms or s"
                        : metric.unit == MetricUnit::kBytes     ? "bytes: give its limit in %, B, KiB, MiB or GiB"
                                                                : "numbers: give its limit in % or without a unit"));
    const std::vector<std::vector<double>> before = before_.of(metric.name), after = after_.of(metric.name);
    Question question{&rule, metric, rule.statistic.value_or(default_statistic(metric.unit)), {}};
    question.change = change_of(before, after, question.statistic, noise_of(metric.unit), statistics_);
    if (rule.has_wildcard() && !question.change.measured()) {
      ++(question.change.baseline_runs == 0 ? new_ : gone_);
      return {};
    }
    if (question.change.measured())
      if (auto relative = relative_change(before, after, metric, question.statistic, times_, statistics_))
        question.relative = relative->change;
    questions_.push_back(std::move(question));
    return {};
  }

  Status not_found(const GateRule& rule) const {
    std::vector<std::string_view> names;
    for (const Metric& metric : metrics_) names.push_back(metric.name);
    const std::string_view near = base::nearest(rule.metric, names);
    return Error(ErrorCode::kNotFound,
                 "rule \"" + base::printable(rule.text) + "\": no run has a metric \"" + base::printable(rule.metric) +
                     "\"" + (near.empty() ? std::string() : "; did you mean " + base::printable(near) + "?"));
  }

  GateCheck checked(const Question& question, double chance, double relative_chance) const {
    const GateRule& rule = *question.rule;
    const Limit limit = limit_of(rule);
    GateCheck out;
    out.rule = rule.text;
    out.metric = question.metric.name;
    out.statistic = name_of(question.statistic);
    out.unit = word_of(question.metric.unit);
    out.is_share = limit.is_share;
    out.limit = rule.limit;
    fill_figures(question.change, out);
    if (!question.change.measured()) {
      out.reason =
          question.change.baseline_runs == 0 ? "the baseline does not have it" : "the candidate does not have it";
      return out;
    }
    const double most = (1 - options_.confidence) / 2;
    if (chance <= most) {
      out.verdict = GateVerdict::kRegression;
    } else if (relative_chance <= most && points_as(*question.relative, question.change)) {
      // Against the other paths of the same runs. It never lets pass: what slows all paths alike is not seen in it.
      out.verdict = GateVerdict::kRegression;
      fill_figures(*question.relative, out);
      out.reason = "against the other paths of the same runs; the machine's speed varied too much to tell otherwise";
    } else if (1 - chance_if_not_beyond(question.change, limit, rule.above) <= most) {  // at the limit is within it
      out.verdict = GateVerdict::kPass;
    } else {
      out.reason = question.change.run_spread_known ? "the interval reaches across the limit: record more runs"
                                                    : "single runs: record several of each side";
    }
    return out;
  }

  static void fill_figures(const Change& change, GateCheck& out) {
    out.baseline = change.baseline;
    out.candidate = change.candidate;
    const double by = change.baseline;
    if (!out.is_share || change.ratio > 0) {
      out.change = out.is_share ? change.ratio - 1 : change.difference;
      out.change_low = out.is_share ? change.ratio_interval.low - 1 : change.difference_interval.low;
      out.change_high = out.is_share ? change.ratio_interval.high - 1 : change.difference_interval.high;
    } else if (by != 0) {
      out.change = change.difference / by;
      out.change_low = change.difference_interval.low / by;
      out.change_high = change.difference_interval.high / by;
    }
  }

  void add_notes(GateResult& out) const {
    if (new_ != 0) out.notes.push_back("metrics found by * that are new: " + std::to_string(new_));
    if (gone_ != 0) out.notes.push_back("metrics found by * that are gone: " + std::to_string(gone_));
    const std::optional<Change> speed = speed_change(times_, statistics_);
    if (speed && (speed->ratio_interval.low > 1 || speed->ratio_interval.high < 1)) {
      const double percent = std::round(1000 * std::abs(speed->ratio - 1)) / 10;
      std::string text = std::to_string(percent);
      text.resize(text.find('.') + 2);
      out.notes.push_back("the candidate's runs are " + text + " % " + (speed->ratio > 1 ? "slower" : "faster") +
                          " in all paths alike: by the machine, or by a change that touches most of the program");
    }
  }

  SideSeries before_, after_;
  PathTimes times_;
  const GateOptions& options_;
  StatisticsOptions statistics_;
  std::vector<Metric> metrics_, all_metrics_;  // of both sides
  std::vector<Question> questions_;
  std::size_t new_ = 0, gone_ = 0;
};

std::set<std::string> kinds_of(std::span<const Run> runs, auto text_of) {
  std::set<std::string> kinds;
  for (const Run& run : runs)
    if (std::string text = text_of(run.hardware); !text.empty()) kinds.insert(std::move(text));
  return kinds;
}

std::string listed(const std::set<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " and ") + base::printable(text);
  return all;
}

/// "8 x NVIDIA H200"
std::string devices_text(const Hardware& hardware) {
  std::string all;
  for (auto device = hardware.devices.begin(); device != hardware.devices.end();) {
    const auto next = std::find_if(device, hardware.devices.end(), [&](const auto& name) { return name != *device; });
    all += (all.empty() ? "" : " + ") + std::to_string(next - device) + " x " + *device;
    device = next;
  }
  return all;
}

void note_single_runs(GateResult& out, const GateOptions& options) {
  if (out.baseline.runs.size() > 1 || out.candidate.runs.size() > 1) return;
  const auto percent = static_cast<long>(std::lround(options.assumed_run_spread * 100));
  out.notes.push_back("each side is one run, so how much runs vary is not known; intervals of times assume " +
                      std::to_string(percent) + " %");
}

}  // namespace

std::string other_hardware(std::span<const Run> baseline, std::span<const Run> candidate) {
  const auto difference = [&](auto text_of) {
    const std::set<std::string> before = kinds_of(baseline, text_of), after = kinds_of(candidate, text_of);
    if (before.empty() || after.empty() || before == after) return std::string();
    return "the baseline is of " + listed(before) + ", the candidate of " + listed(after);
  };
  const std::string devices = difference(devices_text);
  return devices.empty() ? difference([](const Hardware& hardware) { return hardware.cpu; }) : devices;
}

Result<GateResult> judge_runs(std::span<const Run> baseline, std::span<const Run> candidate,
                              std::span<const GateRule> rules, bool optional, const GateOptions& options) {
  const std::string other = other_hardware(baseline, candidate);
  if (!other.empty() && !options.other_hardware)
    return Error(ErrorCode::kInvalidArgument,
                 other + "; --other-hardware (GateOptions::other_hardware) compares them all the same");
  Gate gate(baseline, candidate, options);
  for (const GateRule& rule : rules)
    if (Status asked = gate.ask(rule, optional); !asked) return asked.error();
  GateResult out = gate.answer();
  if (out.checks.empty() && !rules.empty()) out.verdict = GateVerdict::kCannotTell;
  out.baseline = compared_side(baseline);
  out.candidate = compared_side(candidate);
  if (!other.empty()) out.notes.insert(out.notes.begin(), "other hardware: " + other);
  note_single_runs(out, options);
  if (out.checks.empty()) out.notes.push_back("no metric was compared");
  return out;
}

}  // namespace rangefinder::compare
