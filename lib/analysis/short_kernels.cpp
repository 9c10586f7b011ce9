// SPDX-License-Identifier: MIT
#include "analysis/short_kernels.hpp"

#include "analysis/activities_by_stream.hpp"
#include "analysis/chains.hpp"
#include "analysis/spread.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>
#include <cstddef>

namespace rangefinder::analysis {
namespace {

std::int64_t time_of(const ActivityTable& activities, ActivityIndex activity) noexcept {
  const std::int64_t begin_ns = within_reach(activities.begin_ns[activity]);
  return std::max(begin_ns, within_reach(activities.end_ns[activity])) - begin_ns;
}

/// Of the calls that launched one kernel each; 0 without any.
std::int64_t median_launch_call(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  std::vector<std::int64_t> lengths;
  LaunchIndex last = kNone;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    const LaunchIndex launch = activities.launch[activity];
    if (activities.kind[activity] != ActivityKind::kKernel || launch >= timeline.launches.size() || launch == last)
      continue;
    last = launch;
    const CallIndex call = timeline.launches.call[launch];
    if (activities.graph_node[activity] != 0 || call >= timeline.calls.size()) continue;
    const std::int64_t begin_ns = within_reach(timeline.calls.begin_ns[call]);
    lengths.push_back(std::max(begin_ns, within_reach(timeline.calls.end_ns[call])) - begin_ns);
  }
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

/// A number for kernels that are alike.
class AlikeKernels {
 public:
  explicit AlikeKernels(const Timeline& timeline) : timeline_(timeline) {}
  std::uint32_t number_of(ActivityIndex kernel) {
    const auto name = static_cast<std::uint32_t>(timeline_.activities.name[kernel]);
    std::uint32_t chain = chains_.of(Chains::kEmpty, name);
    const std::uint32_t at = timeline_.activities.detail[kernel];
    if (at >= timeline_.kernel_details.size()) return chain;
    const KernelDetail& detail = timeline_.kernel_details[at];
    for (const auto* size : {&detail.grid, &detail.block})
      for (const std::uint32_t part : *size) chain = chains_.of(chain, part);
    return chain;
  }
  std::uint32_t end() const noexcept { return chains_.end(); }

 private:
  const Timeline& timeline_;
  Chains chains_;
};

}  // namespace

ShortKernels::ShortKernels(const Timeline& timeline, const KernelFamilies& families, std::int64_t usual_ns)
    : limit_ns_(std::max(usual_ns, median_launch_call(timeline))), short_(timeline.activities.size()) {
  const ActivityTable& activities = timeline.activities;
  AlikeKernels alike(timeline);
  std::vector<std::uint32_t> number(activities.size());
  std::vector<Sum> times;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    if (activities.kind[activity] != ActivityKind::kKernel) continue;
    if (families.of(activity) == KernelFamily::kCommunication) continue;
    number[activity] = alike.number_of(activity);
    if (times.size() < alike.end()) times.resize(alike.end());
    times[number[activity]].add(time_of(activities, activity));
  }
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    if (number[activity] == Chains::kEmpty) continue;
    const Sum& time = times[number[activity]];
    short_[activity] = time.total < static_cast<__int128>(limit_ns_) * static_cast<__int128>(time.count);
  }
}

std::vector<ShortKernelTotal> short_kernel_totals(const Timeline& timeline, const KernelFamilies& families,
                                                  const ShortKernels& kernels) {
  const ActivityTable& activities = timeline.activities;
  std::vector<ShortKernelTotal> rows;
  Chains keys;
  projection::FlatMap row_of;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    if (!kernels.has(activity)) continue;
    const RangeIndex by = families.operator_of(activity);
    const StringId name = by < timeline.ranges.size() ? timeline.ranges.name[by] : StringId::kEmpty;
    const StringId kernel = activities.name[activity];
    std::uint32_t key = Chains::kEmpty;
    for (const std::uint32_t part : {static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(kernel),
                                     static_cast<std::uint32_t>(families.of(activity))})
      key = keys.of(key, part);
    const std::uint32_t at = row_of.find_or_set(key, static_cast<std::uint32_t>(rows.size()));
    if (at == rows.size()) rows.push_back({name, kernel, families.of(activity), 0, 0});
    ++rows[at].count;
    rows[at].gpu_sum_ns = saturating_add(rows[at].gpu_sum_ns, time_of(activities, activity));
  }
  std::sort(rows.begin(), rows.end(), [&](const ShortKernelTotal& a, const ShortKernelTotal& b) {
    if (a.gpu_sum_ns != b.gpu_sum_ns) return a.gpu_sum_ns > b.gpu_sum_ns;
    if (a.operator_name != b.operator_name) return timeline.text(a.operator_name) < timeline.text(b.operator_name);
    if (a.kernel != b.kernel) return timeline.text(a.kernel) < timeline.text(b.kernel);
    return a.family < b.family;
  });
  return rows;
}

}  // namespace rangefinder::analysis
