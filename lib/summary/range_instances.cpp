// SPDX-License-Identifier: MIT
#include "summary/range_instances.hpp"

#include "projection/figures.hpp"

#include <algorithm>
#include <numeric>

namespace rangefinder::summary {
namespace {

// Of one range on one device; what comes later than so many stretches behind counts where the newer ones leave room.
constexpr std::size_t kMaxStretches = std::size_t{1} << 14;

std::vector<ActivityIndex> owned_by_begin(const ActivityTable& activities, const Projection& projection,
                                          std::size_t ranges) {
  std::vector<ActivityIndex> order;
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    if (projection.owner[row] < ranges) order.push_back(row);
  std::stable_sort(order.begin(), order.end(),
                   [&](ActivityIndex a, ActivityIndex b) { return activities.begin_ns[a] < activities.begin_ns[b]; });
  return order;
}

}  // namespace

RangeInstances::Busy& RangeInstances::busy_of(Instance& instance, DeviceIndex device) {
  for (Busy& busy : instance.devices)
    if (busy.device == device) return busy;
  instance.devices.emplace_back().device = device;
  return instance.devices.back();
}

/// Gives what of it no stretch covered.
std::int64_t RangeInstances::add(Busy& busy, std::int64_t begin_ns, std::int64_t end_ns) {
  begin_ns = std::max(begin_ns, busy.settled_ns);
  if (end_ns <= begin_ns) return 0;
  auto& stretches = busy.stretches;
  // The first that it touches; mostly it is behind all of them.
  auto first = stretches.end();
  if (!stretches.empty() && stretches.back().end_ns >= begin_ns)
    first = std::partition_point(stretches.begin(), stretches.end(),
                                 [&](const Stretch& each) { return each.end_ns < begin_ns; });
  if (first == stretches.end() || first->begin_ns > end_ns) {
    stretches.insert(first, {begin_ns, end_ns});
    if (stretches.size() > kMaxStretches) settle(busy, kMaxStretches / 2);
    return end_ns - begin_ns;
  }
  Stretch whole{std::min(begin_ns, first->begin_ns), end_ns};
  std::int64_t covered = 0;
  auto last = first;
  for (; last != stretches.end() && last->begin_ns <= end_ns; ++last) {
    covered += last->end_ns - last->begin_ns;
    whole.end_ns = std::max(whole.end_ns, last->end_ns);
  }
  *first = whole;
  stretches.erase(first + 1, last);
  return whole.end_ns - whole.begin_ns - covered;
}

void RangeInstances::settle(Busy& busy, std::size_t count) {
  if (count == 0) return;
  busy.settled_ns = busy.stretches[count - 1].end_ns;
  busy.stretches.erase(busy.stretches.begin(), busy.stretches.begin() + static_cast<std::ptrdiff_t>(count));
}

std::vector<RangeInstances::Added> RangeInstances::add(const Timeline& window, const Projection& projection,
                                                       const KeyOf& key_of) {
  const ActivityTable& activities = window.activities;
  const std::size_t ranges = window.ranges.size();
  std::vector<Added> added(ranges);
  std::vector<Instance*> instance_of(ranges, nullptr);
  std::vector<std::uint64_t> ops(ranges, 0);
  const auto instance = [&](RangeIndex range) -> Instance& {
    if (instance_of[range] == nullptr) {
      Instance& found = instances_[key_of(range)];
      const bool has_stretches = std::any_of(found.devices.begin(), found.devices.end(),
                                             [](const Busy& busy) { return !busy.stretches.empty(); });
      if (!has_stretches) unsettled_.push_back(key_of(range));
      instance_of[range] = &found;
    }
    return *instance_of[range];
  };
  for (const ActivityIndex row : owned_by_begin(activities, projection, ranges)) {
    const DeviceIndex device = window.streams[activities.stream[row]].device;
    for (RangeIndex range(projection.owner[row]); range != kNone; range = projection.parent[range]) {
      added[range].busy_ns += add(busy_of(instance(range), device), activities.begin_ns[row], activities.end_ns[row]);
      ++ops[range];
    }
  }
  for (RangeIndex range{0}; range < ranges; ++range) {
    const DeviceFigures& figures = projection.inclusive[range];
    if (figures.gpu_ops == 0) continue;
    // Start/end ranges have work of ranges that are not inside them.
    if (ops[range] != figures.gpu_ops) added[range].busy_ns = figures.gpu_busy_ns;
    Instance& found = instance(range);
    const std::int64_t before_ns = found.has_any ? found.last_ns - found.first_ns : 0;
    found.first_ns = found.has_any ? std::min(found.first_ns, figures.first_ns) : figures.first_ns;
    found.last_ns = found.has_any ? std::max(found.last_ns, figures.last_ns) : figures.last_ns;
    found.has_any = true;
    added[range].span_ns = found.last_ns - found.first_ns - before_ns;
  }
  return added;
}

void RangeInstances::settle(std::int64_t time_ns) {
  if (time_ns <= settled_ns_) return;
  settled_ns_ = time_ns;
  std::erase_if(unsettled_, [&](std::uint64_t key) {
    const auto found = instances_.find(key);
    if (found == instances_.end()) return true;
    bool is_settled = true;
    for (Busy& busy : found->second.devices) {
      const auto later = std::partition_point(busy.stretches.begin(), busy.stretches.end(),
                                              [&](const Stretch& each) { return each.end_ns <= time_ns; });
      settle(busy, static_cast<std::size_t>(later - busy.stretches.begin()));
      is_settled = is_settled && busy.stretches.empty();
    }
    return is_settled;
  });
}

}  // namespace rangefinder::summary
