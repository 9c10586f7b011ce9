// SPDX-License-Identifier: MIT
#include "advice/rule.hpp"
#include "advice/verdict.hpp"

#include <rangefinder/analysis/advice.hpp>

#include <algorithm>
#include <utility>

namespace rangefinder {

Advice advise(const Timeline& timeline, const AdviceOptions& options) {
  Advice out;
  if (timeline.activities.size() == 0 && timeline.ranges.size() == 0 && timeline.calls.size() == 0) {
    out.verdict = "Cannot tell: this input has neither ranges nor work of devices";
    return out;
  }
  advice::Context context(timeline, options);
  out.step_ns = context.step_ns();
  out.steps = context.steps_that_count();
  for (const advice::Rule& rule : advice::rules()) {
    advice::Judgement judgement = rule.judge(context);
    for (AdviceFinding& finding : judgement.findings) out.findings.push_back(std::move(finding));
    if (!judgement.missing.empty()) out.abstentions.push_back({rule.rule, std::move(judgement.missing)});
  }
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const AdviceFinding& a, const AdviceFinding& b) { return a.own_gain_ns > b.own_gain_ns; });
  out.bound = advice::bound_of(context);
  out.verdict = advice::verdict_of(context, out);
  return out;
}

const char* to_string(AdviceBound bound) noexcept {
  switch (bound) {
    case AdviceBound::kUnknown:
      return "unknown";
    case AdviceBound::kHost:
      return "host";
    case AdviceBound::kDevice:
      return "device";
    case AdviceBound::kCommunication:
      return "communication";
    case AdviceBound::kInput:
      return "input";
    case AdviceBound::kCopies:
      return "copies";
  }
  return "unknown";
}

}  // namespace rangefinder
