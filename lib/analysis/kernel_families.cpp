// SPDX-License-Identifier: MIT
#include "analysis/kernel_families.hpp"

#include "analysis/range_forest.hpp"
#include "projection/project.hpp"

#include <rangefinder/projection.hpp>

#include <cstddef>

namespace rangefinder::analysis {
namespace {

/// Each name of a timeline is read once.
class FamiliesOfNames {
 public:
  using Read = std::optional<KernelFamily> (*)(std::string_view);
  FamiliesOfNames(const Timeline& timeline, Read read)
      : timeline_(timeline), read_(read), known_(timeline.string_count(), kNotAsked) {}

  std::optional<KernelFamily> of(StringId name) {
    std::uint8_t& known = known_[static_cast<std::size_t>(name)];
    if (known == kNotAsked) {
      const std::optional<KernelFamily> family = read_(timeline_.text(name));
      known = family ? static_cast<std::uint8_t>(*family) : kUntold;
    }
    if (known == kUntold) return std::nullopt;
    return static_cast<KernelFamily>(known);
  }

 private:
  static constexpr std::uint8_t kNotAsked = 255, kUntold = 254;
  const Timeline& timeline_;
  Read read_;
  std::vector<std::uint8_t> known_;
};

/// Kernels that many operators launch, for different purposes.
bool is_general(KernelFamily family) noexcept {
  return family == KernelFamily::kElementwise || family == KernelFamily::kReduction || family == KernelFamily::kCopy;
}

/// Whether a kernel of that family is part of a purpose of its operator: products of a convolution, the sorted indices
/// of an embedding's gradient.
bool serves(KernelFamily kernel, KernelFamily purpose) noexcept {
  if (purpose == KernelFamily::kOther) return false;
  if (kernel == KernelFamily::kGemm)
    return purpose == KernelFamily::kConvolution || purpose == KernelFamily::kAttention;
  return is_general(kernel) || (kernel == KernelFamily::kSort && purpose == KernelFamily::kEmbedding);
}

/// Operators that leave their work to operators inside of them.
bool owns_what_is_inside(KernelFamily family) noexcept {
  return family == KernelFamily::kOptimizer || family == KernelFamily::kEmbedding;
}

/// What the ranges around a launch tell; kOther: nothing.
struct Around {
  RangeIndex innermost_operator = kNone;
  KernelFamily told = KernelFamily::kOther;     ///< by the innermost range that tells
  KernelFamily purpose = KernelFamily::kOther;  ///< of kernels that many operators launch
};

std::vector<Around> around_launches(const Timeline& timeline, const Projection& projection) {
  const RangeTable& ranges = timeline.ranges;
  FamiliesOfNames names(timeline, family_of_operator);
  std::vector<Around> around(ranges.size());
  const RangeForest forest(projection);
  for (const RangeIndex range : forest.order()) {
    Around here;
    if (projection.parent[range] != kNone) here = around[projection.parent[range]];
    if (!owns_what_is_inside(here.purpose)) here.purpose = KernelFamily::kOther;
    if (ranges.kind[range] == RangeKind::kOperator) here.innermost_operator = range;
    const std::optional<KernelFamily> own = names.of(ranges.name[range]);
    const bool is_program = ranges.kind[range] == RangeKind::kAnnotation;
    // Users name ranges as they like; of those only an optimizer's step, which torch names, tells.
    if (own && (!is_program || *own == KernelFamily::kOptimizer)) {
      here.told = *own;
      if (!is_general(*own) && here.purpose == KernelFamily::kOther) here.purpose = *own;
    }
    around[range] = here;
  }
  return around;
}

KernelFamily family_of(ActivityKind kind, std::optional<KernelFamily> by_name, const Around& around) noexcept {
  if (is_copy(kind)) return KernelFamily::kCopy;
  if (kind == ActivityKind::kGraph) return KernelFamily::kOther;
  if (!by_name) return around.told;
  return serves(*by_name, around.purpose) ? around.purpose : *by_name;
}

}  // namespace

KernelFamilies::KernelFamilies(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  const Projection projection = projection::project_owners(timeline, {Attribution::kCapture, true, true});
  const std::vector<Around> around = around_launches(timeline, projection);
  FamiliesOfNames names(timeline, family_of_kernel);
  const Around nothing;
  families_.reserve(activities.size());
  operators_.reserve(activities.size());
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    const std::uint32_t owner = projection.owner[activity];
    const Around& here = owner < around.size() ? around[owner] : nothing;
    families_.push_back(family_of(activities.kind[activity], names.of(activities.name[activity]), here));
    operators_.push_back(here.innermost_operator);
  }
}

}  // namespace rangefinder::analysis
