// SPDX-License-Identifier: MIT
#include "analysis/collective_work.hpp"

#include "projection/figures.hpp"
#include "timeline/collectives.hpp"

#include <algorithm>

namespace rangefinder::analysis {
namespace {

void add_kernels(const Timeline& timeline, std::vector<CollectiveWork>& works) {
  const ActivityTable& activities = timeline.activities;
  if (activities.collective.empty()) return;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    const CollectiveIndex collective = activities.collective[row];
    if (collective == kNone || collective >= works.size()) continue;
    CollectiveWork& work = works[collective];
    if (work.kernels == 0 || activities.begin_ns[row] < work.begin_ns) {
      work.begin_ns = activities.begin_ns[row];
      work.stream = activities.stream[row];
    }
    work.end_ns = std::max(work.end_ns, activities.end_ns[row]);  // kNoTime is before all times
    work.kernel_sum_ns =
        projection::plus(work.kernel_sum_ns, projection::minus(activities.end_ns[row], activities.begin_ns[row]));
    ++work.kernels;
  }
}

}  // namespace

std::vector<CollectiveWork> collective_works(const Timeline& timeline) {
  const CollectiveTable& table = timeline.collectives;
  std::vector<CollectiveWork> works(table.size());
  add_kernels(timeline, works);
  for (CollectiveIndex row{0}; row < table.size(); ++row) {
    CollectiveWork& work = works[row];
    if (work.kernels == 0) {
      work.begin_ns = table.started_ns[row] != kNoTime ? table.started_ns[row] : table.begin_ns[row];
      work.end_ns = table.completed_ns[row] != kNoTime ? table.completed_ns[row] : table.end_ns[row];
    }
    // The call was over before the work began, which was not done.
    if (work.end_ns < work.begin_ns) work.end_ns = kNoTime;
  }
  return works;
}

std::int64_t counted_elements(const CollectiveTable& table, CollectiveIndex row, std::int64_t ranks) noexcept {
  const std::int64_t in = table.elements_in[row], out = table.elements_out[row];
  const auto times_ranks = [&](std::int64_t part) {
    std::int64_t all = -1;
    return part < 0 || ranks <= 0 || __builtin_mul_overflow(part, ranks, &all) ? -1 : all;
  };
  switch (table.kind[row]) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
      return out >= 0 ? out : times_ranks(in);
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter:
      return in >= 0 ? in : times_ranks(out);
    case CollectiveKind::kBarrier:
      return -1;
    default:
      return in >= 0 ? in : out;
  }
}

std::optional<std::uint64_t> counted_bytes(const Timeline& timeline, CollectiveIndex row, std::int64_t ranks) noexcept {
  const std::int64_t elements = counted_elements(timeline.collectives, row, ranks);
  const std::uint64_t size = timeline::element_bytes(timeline.text(timeline.collectives.dtype[row]));
  std::uint64_t bytes = 0;
  if (elements < 0 || size == 0 || __builtin_mul_overflow(static_cast<std::uint64_t>(elements), size, &bytes))
    return std::nullopt;
  return bytes;
}

}  // namespace rangefinder::analysis
