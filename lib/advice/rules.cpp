// SPDX-License-Identifier: MIT
#include "advice/rule.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace rangefinder::advice {

// Each is defined in a file of rules/.
Judge judge_implicit_synchronization, judge_launch_bound, judge_elementwise_chain, judge_data_wait, judge_pageable_copy,
    judge_small_copies, judge_low_occupancy, judge_tail_wave, judge_no_tensor_cores, judge_gemm_alignment,
    judge_fp32_math, judge_allocator_retries, judge_allocator_fragmentation, judge_device_allocation,
    judge_exposed_communication, judge_small_buckets, judge_rank_imbalance, judge_compilation, judge_graph_capture,
    judge_clocks, judge_profiler_overhead, judge_host_threads;

namespace {

constexpr std::array<Rule, kAdviceRules> kRules{{
    {AdviceRule::kImplicitSynchronization, "implicit_synchronization", judge_implicit_synchronization},
    {AdviceRule::kLaunchBound, "launch_bound", judge_launch_bound},
    {AdviceRule::kElementwiseChain, "elementwise_chain", judge_elementwise_chain},
    {AdviceRule::kDataWait, "data_wait", judge_data_wait},
    {AdviceRule::kPageableCopy, "pageable_copy", judge_pageable_copy},
    {AdviceRule::kSmallCopies, "small_copies", judge_small_copies},
    {AdviceRule::kLowOccupancy, "low_occupancy", judge_low_occupancy},
    {AdviceRule::kTailWave, "tail_wave", judge_tail_wave},
    {AdviceRule::kNoTensorCores, "no_tensor_cores", judge_no_tensor_cores},
    {AdviceRule::kGemmAlignment, "gemm_alignment", judge_gemm_alignment},
    {AdviceRule::kFp32Math, "fp32_math", judge_fp32_math},
    {AdviceRule::kAllocatorRetries, "allocator_retries", judge_allocator_retries},
    {AdviceRule::kAllocatorFragmentation, "allocator_fragmentation", judge_allocator_fragmentation},
    {AdviceRule::kDeviceAllocation, "device_allocation", judge_device_allocation},
    {AdviceRule::kExposedCommunication, "exposed_communication", judge_exposed_communication},
    {AdviceRule::kSmallBuckets, "small_buckets", judge_small_buckets},
    {AdviceRule::kRankImbalance, "rank_imbalance", judge_rank_imbalance},
    {AdviceRule::kCompilation, "compilation", judge_compilation},
    {AdviceRule::kGraphCapture, "graph_capture", judge_graph_capture},
    {AdviceRule::kClocks, "clocks", judge_clocks},
    {AdviceRule::kProfilerOverhead, "profiler_overhead", judge_profiler_overhead},
    {AdviceRule::kHostThreads, "host_threads", judge_host_threads},
}};

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i)
    if (static_cast<std::size_t>(kRules[i].rule) != i) return false;
  return true;
}
static_assert(are_in_order());

}  // namespace

std::span<const Rule> rules() noexcept { return kRules; }

AdviceFinding finding_of(AdviceRule rule, std::int64_t gain_ns, EvidenceTable& evidence, FindingTexts texts) {
  AdviceFinding finding;
  finding.rule = rule;
  finding.gain_ns = finding.own_gain_ns = gain_ns;
  finding.headline = std::move(texts.headline);
  finding.change = std::move(texts.change);
  finding.check = std::move(texts.check);
  if (!evidence.empty()) {
    finding.range = evidence.main_range();
    finding.evidence = evidence.rows();
  }
  return finding;
}

const char* a_step(Context& context) { return context.frames().are_steps() ? " a step" : ""; }

std::string counted(std::uint64_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

std::string counted(std::uint64_t count, const char* word) {
  return counted(count, word, (std::string(word) + "s").c_str());
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
  return text;
}

std::string in_range(const std::string& path) { return path.empty() ? std::string() : " in " + path; }

}  // namespace rangefinder::advice

namespace rangefinder {

const char* to_string(AdviceRule rule) noexcept {
  const auto index = static_cast<std::size_t>(rule);
  return index < advice::rules().size() ? advice::rules()[index].name : "unknown";
}

}  // namespace rangefinder
