// SPDX-License-Identifier: MIT
#include "analysis/activities_by_stream.hpp"

namespace rangefinder::analysis {

ActivitiesByStream::ActivitiesByStream(const Timeline& timeline)
    : activities_(timeline.activities), first_(timeline.streams.size() + 1) {
  for (const StreamIndex stream : activities_.stream) ++first_[stream + 1];
  for (std::size_t stream = 1; stream < first_.size(); ++stream) first_[stream] += first_[stream - 1];
  order_.resize(activities_.size());
  std::vector<std::size_t> next(first_);
  for (ActivityIndex row{0}; row < activities_.size(); ++row) order_[next[activities_.stream[row]]++] = row;
  const auto earlier = [this](ActivityIndex a, ActivityIndex b) {
    const std::int64_t begin_a = begin_ns(a), begin_b = begin_ns(b);
    return begin_a != begin_b ? begin_a < begin_b : a < b;
  };
  for (StreamIndex stream{0}; stream < timeline.streams.size(); ++stream) {
    const std::span<ActivityIndex> rows(order_.data() + first_[stream], first_[stream + 1] - first_[stream]);
    if (!std::is_sorted(rows.begin(), rows.end(), earlier)) std::sort(rows.begin(), rows.end(), earlier);
  }
}

}  // namespace rangefinder::analysis
