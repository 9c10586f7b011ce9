// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"
#include "advice/evidence.hpp"

#include <rangefinder/analysis/advice.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::advice {

/// What a rule says: findings; or what is missing to judge; or, with neither, that there is nothing to find.
struct Judgement {
  std::vector<AdviceFinding> findings;
  std::string missing;

  static Judgement nothing() { return {}; }
  static Judgement cannot_tell(std::string missing) { return {{}, std::move(missing)}; }
  static Judgement found(AdviceFinding finding) {
    Judgement one;
    one.findings.push_back(std::move(finding));
    return one;
  }
};

using Judge = Judgement(Context& context);

struct Rule {
  AdviceRule rule;
  const char* name;
  Judge* judge;
};

/// All of them, in the order of AdviceRule. Each judge is defined in a file of rules/.
std::span<const Rule> rules() noexcept;

/// What to say, beside the figures.
struct FindingTexts {
  std::string headline;
  std::string change;
  std::string check;
};

AdviceFinding finding_of(AdviceRule rule, std::int64_t gain_ns, EvidenceTable& evidence, FindingTexts texts);

/// Of rules about what is done again and again, and is no fault in the first steps.
inline constexpr char kStepsAreMissing[] =
    "six steps or more, which tell a warm-up from what is done again and again: call session.step(), or "
    "torch.profiler's step()";
/// Of rules about what the host calls.
inline constexpr char kCallsAreMissing[] =
    "CUDA's calls: record with cuda_api=on, or with torch.profiler's ProfilerActivity.CPU beside CUDA";
/// Of rules about how kernels fill a device.
inline constexpr char kLaunchConfigurationsAreMissing[] =
    "launch configurations of kernels, or what the device has: record with cuda=on; torch.profiler's traces have them "
    "for "
    "NVIDIA's devices";

/// " a step", or nothing where no steps were judged.
const char* a_step(Context& context);
/// "1 copy", "37 copies"; of one word the plural has an s.
std::string counted(std::uint64_t count, const char* one, const char* several);
std::string counted(std::uint64_t count, const char* word);
/// "12 %", "0.8 %": of 10^-3.
std::string percent(double share);
/// " in step/forward"; nothing for no range.
std::string in_range(const std::string& path);

}  // namespace rangefinder::advice
