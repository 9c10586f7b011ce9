// SPDX-License-Identifier: MIT
#include "analysis/stragglers_kernels.hpp"

#include "analysis/device_states.hpp"
#include "analysis/medians.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>

namespace rangefinder {
namespace {

struct KernelWord {
  std::string_view word;
  KernelClass kernel_class;
};
// In the order in which they are looked for. splitKreduce ends a matrix product; xmma names products and convolutions.
constexpr KernelWord kKernelWords[] = {{"flash", KernelClass::kAttention},
                                       {"fmha", KernelClass::kAttention},
                                       {"attention", KernelClass::kAttention},
                                       {"attn", KernelClass::kAttention},
                                       {"fprop", KernelClass::kConvolution},
                                       {"dgrad", KernelClass::kConvolution},
                                       {"wgrad", KernelClass::kConvolution},
                                       {"winograd", KernelClass::kConvolution},
                                       {"conv", KernelClass::kConvolution},
                                       {"im2col", KernelClass::kConvolution},
                                       {"col2im", KernelClass::kConvolution},
                                       {"splitkreduce", KernelClass::kGemm},
                                       {"gemm", KernelClass::kGemm},
                                       {"gemv", KernelClass::kGemm},
                                       {"cutlass", KernelClass::kGemm},
                                       {"nvjet", KernelClass::kGemm},
                                       {"xmma", KernelClass::kGemm},
                                       {"matmul", KernelClass::kGemm},
                                       {"elementwise", KernelClass::kElementwise},
                                       {"pointwise", KernelClass::kElementwise},
                                       {"triton_poi", KernelClass::kElementwise},
                                       {"multi_tensor", KernelClass::kElementwise},
                                       {"foreach", KernelClass::kElementwise},
                                       {"adam", KernelClass::kElementwise},
                                       {"triton_red", KernelClass::kReduction},
                                       {"triton_per", KernelClass::kReduction},
                                       {"reduce_kernel", KernelClass::kReduction},
                                       {"norm", KernelClass::kNormalization},
                                       {"softmax", KernelClass::kNormalization},
                                       {"welford", KernelClass::kNormalization},
                                       {"reduce", KernelClass::kReduction}};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

KernelClass kernel_class_of(std::string_view kernel) {
  // Template arguments name types and functors of all kinds; CUTLASS says what it computes nowhere else.
  std::string_view own = kernel.substr(0, kernel.find('<'));
  if (own.find("cutlass") != std::string_view::npos) own = kernel;
  constexpr std::size_t kMost = 512;
  const std::string lower = lower_case(own.substr(0, kMost));
  for (const KernelWord& one : kKernelWords)
    if (lower.find(one.word) != std::string::npos) return one.kernel_class;
  return KernelClass::kOther;
}

namespace analysis {
namespace {

constexpr std::uint8_t kClassUnread = 0xFF;

std::int64_t length_of(const ActivityTable& activities, ActivityIndex row) noexcept {
  const std::int64_t begin = std::clamp(activities.begin_ns[row], -kFarthestNs, kFarthestNs);
  return std::max<std::int64_t>(0, std::clamp(activities.end_ns[row], -kFarthestNs, kFarthestNs) - begin);
}

}  // namespace

KernelClasses::KernelClasses(const Timeline& timeline)
    : timeline_(timeline), communication_(timeline), by_name_(timeline.string_count(), kClassUnread) {}

bool KernelClasses::is_communication(ActivityIndex activity) {
  const ActivityTable& activities = timeline_.activities;
  if (activities.collective[activity] != kNone) return true;
  return activities.kind[activity] == ActivityKind::kKernel && communication_.has(activities.name[activity]);
}

KernelClass KernelClasses::of(ActivityIndex activity) {
  const ActivityTable& activities = timeline_.activities;
  if (is_copy(activities.kind[activity])) return KernelClass::kCopy;
  if (activities.kind[activity] != ActivityKind::kKernel) return KernelClass::kOther;
  std::uint8_t& known = by_name_[static_cast<std::size_t>(activities.name[activity])];
  if (known == kClassUnread)
    known = static_cast<std::uint8_t>(kernel_class_of(timeline_.text(activities.name[activity])));
  return static_cast<KernelClass>(known);
}

void KernelScores::add_rank(std::span<const ActivityIndex> activities) {
  const ActivityTable& table = timeline_.activities;
  std::vector<OfName>& names = ranks_.emplace_back();
  std::vector<std::vector<double>> lengths;
  for (const ActivityIndex row : activities) {
    std::uint32_t& place = place_[static_cast<std::size_t>(table.name[row])];
    if (place == 0) {
      names.push_back({table.name[row], 0, 0, row});
      lengths.emplace_back();
      place = static_cast<std::uint32_t>(names.size());
    }
    const auto length = static_cast<double>(length_of(table, row));
    lengths[place - 1].push_back(length);
    names[place - 1].total_ns += length;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i].median_ns = median_of(lengths[i]);
    place_[static_cast<std::size_t>(names[i].name)] = 0;
  }
}

/// 0 for names that fewer than half of the ranks have: there is nothing that is usual.
std::vector<double> KernelScores::medians_by_name() const {
  std::vector<std::vector<double>> medians(place_.size());
  for (const std::vector<OfName>& names : ranks_)
    for (const OfName& one : names)
      if (one.median_ns > 0) medians[static_cast<std::size_t>(one.name)].push_back(one.median_ns);
  std::vector<double> usual(medians.size());
  for (std::size_t name = 0; name < medians.size(); ++name)
    if (medians[name].size() * 2 >= ranks_.size()) usual[name] = median_of(medians[name]);
  return usual;
}

void KernelScores::fill(std::vector<RankScore>& ranks, KernelClasses& classes) const {
  const std::vector<double> usual = medians_by_name();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    double score = 0, weight = 0;
    std::array<double, kKernelClasses> class_score{}, class_weight{};
    for (const OfName& one : ranks_[rank]) {
      const double reference = usual[static_cast<std::size_t>(one.name)];
      if (reference == 0 || one.median_ns <= 0) continue;
      const auto of_class = static_cast<std::size_t>(classes.of(one.first));
      const double relative = reference / one.median_ns * one.total_ns;
      score += relative;
      weight += one.total_ns;
      class_score[of_class] += relative;
      class_weight[of_class] += one.total_ns;
    }
    ranks[rank].kernel_score = weight > 0 ? score / weight : 0;
    for (std::size_t i = 0; i < kKernelClasses; ++i)
      ranks[rank].class_score[i] = class_weight[i] > 0 ? class_score[i] / class_weight[i] : 0;
  }
}

}  // namespace analysis

const char* to_string(KernelClass kernel_class) noexcept {
  constexpr const char* kNames[] = {"GEMM",      "attention",   "convolution", "normalization",
                                    "reduction", "elementwise", "copy",        "other"};
  static_assert(std::size(kNames) == kKernelClasses);
  const auto place = static_cast<std::size_t>(kernel_class);
  return kNames[std::min(place, kKernelClasses - 1)];
}

}  // namespace rangefinder
