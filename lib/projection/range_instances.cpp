// SPDX-License-Identifier: MIT
#include "projection/range_instances.hpp"

#include <algorithm>
#include <numeric>

namespace rangefinder::projection {
namespace {

std::vector<ActivityIndex> owned_by_begin(const ActivityTable& activities, const Projection& projection,
                                          std::size_t ranges) {
  std::vector<ActivityIndex> order;
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    if (projection.owner[row] < ranges) order.push_back(row);
  const auto by_begin = [&](ActivityIndex a, ActivityIndex b) {
    return activities.begin_ns[a] < activities.begin_ns[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), by_begin)) std::stable_sort(order.begin(), order.end(), by_begin);
  return order;
}

}  // namespace

BusyTime& RangeInstances::busy_of(std::vector<Busy>& devices, DeviceIndex device) {
  for (Busy& busy : devices)
    if (busy.device == device) return busy.time;
  devices.emplace_back().device = device;
  return devices.back().time;
}

template <typename Use>
void RangeInstances::for_each_busy(Instance& instance, Use use) {
  for (auto* devices : {&instance.devices, &instance.own})
    for (Busy& busy : *devices) use(busy.time);
  use(instance.any);
}

void RangeInstances::add(Instance& instance, DeviceIndex device, std::int64_t begin_ns, std::int64_t end_ns,
                         bool is_own, Added& added) const {
  const std::size_t known = instance.devices.size();
  BusyTime& busy = busy_of(instance.devices, device);
  // So far that of the one device was that of all.
  if (all_ && known == 1 && instance.devices.size() == 2) instance.any = instance.devices.front().time;
  const std::int64_t more_ns = busy.add(begin_ns, end_ns);
  added.busy_ns += more_ns;
  if (!all_) return;
  added.any_busy_ns += instance.devices.size() < 2 ? more_ns : instance.any.add(begin_ns, end_ns);
  if (is_own) added.own_busy_ns += busy_of(instance.own, device).add(begin_ns, end_ns);
}

std::vector<RangeInstances::Added> RangeInstances::add(const Timeline& window, const Projection& projection,
                                                       const KeyOf& key_of, const Members& members) {
  const ActivityTable& activities = window.activities;
  const std::size_t ranges = window.ranges.size();
  std::vector<Added> added(ranges);
  std::vector<Instance*> instance_of(ranges, nullptr);
  std::vector<std::uint64_t> ops(ranges, 0);
  const auto instance = [&](RangeIndex range) -> Instance& {
    if (instance_of[range] == nullptr) {
      Instance& found = instances_[key_of(range)];
      bool has_stretches = false;
      for_each_busy(found, [&](const BusyTime& busy) { has_stretches = has_stretches || !busy.is_settled(); });
      if (!has_stretches) unsettled_.push_back(key_of(range));
      instance_of[range] = &found;
    }
    return *instance_of[range];
  };
  const std::vector<ActivityIndex> owned = owned_by_begin(activities, projection, ranges);
  std::uint64_t steps = members.size();
  for (const ActivityIndex row : owned) steps += projection.depth[projection.owner[row]] + 1;
  const bool is_too_deep = steps > kMaxSteps;
  is_exact_ = is_exact_ && !is_too_deep;
  for (const ActivityIndex row : is_too_deep ? std::vector<ActivityIndex>() : owned) {
    const DeviceIndex device = window.streams[activities.stream[row]].device;
    const RangeIndex owner(projection.owner[row]);
    const auto count = [&](RangeIndex range) {
      add(instance(range), device, activities.begin_ns[row], activities.end_ns[row], range == owner, added[range]);
      ++ops[range];
    };
    if (members.each(row, count)) continue;
    for (RangeIndex range = owner; range != kNone; range = projection.parent[range]) count(range);
  }
  for (RangeIndex range{0}; range < ranges; ++range) {
    const DeviceFigures& figures = projection.inclusive[range];
    if (figures.gpu_ops == 0) continue;
    // Start/end ranges have work of ranges that are not inside them, which members tell.
    if (ops[range] != figures.gpu_ops) {
      is_exact_ = false;
      added[range].busy_ns = figures.gpu_busy_ns;
      added[range].any_busy_ns = figures.any_busy_ns;
    }
    if (is_too_deep) added[range].own_busy_ns = projection.exclusive[range].gpu_busy_ns;
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
    for_each_busy(found->second, [&](BusyTime& busy) {
      busy.settle(time_ns);
      is_settled = is_settled && busy.is_settled();
    });
    return is_settled;
  });
}

}  // namespace rangefinder::projection
