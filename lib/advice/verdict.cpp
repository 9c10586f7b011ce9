// SPDX-License-Identifier: MIT
#include "advice/verdict.hpp"

#include "advice/rule.hpp"
#include "analysis/spread.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

namespace rangefinder::advice {
namespace {

constexpr std::size_t kBounds = 6;
// A path of so many steps tells as much as that of all, and each is walked.
constexpr std::size_t kMostWindows = 64;

AdviceBound bound_of(CriticalReason reason) noexcept {
  switch (reason) {
    case CriticalReason::kHost:
    case CriticalReason::kCall:
    case CriticalReason::kLaunchLatency:
    case CriticalReason::kSynchronisation:
    case CriticalReason::kThreadWait:
      return AdviceBound::kHost;
    case CriticalReason::kInput:
      return AdviceBound::kInput;
    case CriticalReason::kComputation:
    case CriticalReason::kStreamDelay:
    case CriticalReason::kLaunchQueue:
      return AdviceBound::kDevice;
    case CriticalReason::kCommunication:
      return AdviceBound::kCommunication;
    case CriticalReason::kCopy:
      return AdviceBound::kCopies;
    case CriticalReason::kUnknown:
      break;
  }
  return AdviceBound::kUnknown;
}

const char* words_of(AdviceBound bound, bool has_device) noexcept {
  switch (bound) {
    case AdviceBound::kHost:
      return has_device ? "The host bounds the step" : "The host's computation bounds the step";
    case AdviceBound::kDevice:
      return "The device's computation bounds the step";
    case AdviceBound::kCommunication:
      return "Communication bounds the step";
    case AdviceBound::kInput:
      return "Waiting for input bounds the step";
    case AdviceBound::kCopies:
      return "Copies bound the step";
    case AdviceBound::kUnknown:
      break;
  }
  return "Nothing takes half of the step";
}

std::string gain_text(const AdviceFinding& finding, std::int64_t step_ns) {
  if (finding.gain_ns == 0) return "memory can be saved: ";
  const double share = step_ns > 0 ? static_cast<double>(finding.gain_ns) / static_cast<double>(step_ns) : 0;
  return "up to " + percent(std::min(share, 1.0)) + " can be gained: ";
}

}  // namespace

AdviceBound bound_of(Context& context) {
  std::array<analysis::Sum, kBounds> time;
  analysis::Sum all;
  const std::vector<CriticalWindow>& windows = context.windows();
  const std::size_t stride = std::max<std::size_t>(1, (windows.size() + kMostWindows - 1) / kMostWindows);
  std::vector<CriticalWindow> some;
  for (std::size_t i = 0; i < windows.size(); i += stride) some.push_back(windows[i]);
  for (const std::vector<CriticalSegment>& path : context.graph().paths(some)) {
    for (const CriticalSegment& segment : path) {
      time[static_cast<std::size_t>(bound_of(segment.reason))].add(segment.length_ns());
      all.add(segment.length_ns());
    }
  }
  const auto most = std::max_element(time.begin(), time.end(),
                                     [](const analysis::Sum& a, const analysis::Sum& b) { return a.total < b.total; });
  return most->total * 2 >= all.total && all.total > 0 ? static_cast<AdviceBound>(std::distance(time.begin(), most))
                                                       : AdviceBound::kUnknown;
}

std::string verdict_of(Context& context, const Advice& advice) {
  const Timeline& timeline = context.timeline();
  if (advice.step_ns <= 0) return "Cannot tell: nothing in this input takes any time";
  const bool has_device = timeline.activities.size() != 0;
  std::string text = words_of(advice.bound, has_device);
  if (!advice.findings.empty()) {
    std::string headline = advice.findings.front().headline;
    return text + "; " + gain_text(advice.findings.front(), advice.step_ns) + headline;
  }
  const std::string least = percent(static_cast<double>(context.options().least_gain_permille) / 1000);
  if (advice.abstentions.size() * 2 > kAdviceRules)
    return "Cannot tell: " + std::to_string(advice.abstentions.size()) + " of " + std::to_string(kAdviceRules) +
           " rules lack their data, and the others found nothing to gain above " + least;
  text += "; nothing to gain above " + least + " was found";
  if (!advice.abstentions.empty())
    text += " by the " + std::to_string(kAdviceRules - advice.abstentions.size()) + " of " +
            std::to_string(kAdviceRules) + " rules that could be judged";
  return text;
}

}  // namespace rangefinder::advice
