// SPDX-License-Identifier: MIT
#include "analysis/nsight/api.hpp"

#include "analysis/nsight/ranges.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::analysis::nsight {
namespace {

// a.total / a.count against b's, without dividing.
bool greater_mean(const Spread& a, const Spread& b) noexcept {
  return a.total * static_cast<__int128>(b.count) > b.total * static_cast<__int128>(a.count);
}

}  // namespace

std::vector<KernelExecution> kernel_executions(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  const CallTable& calls = timeline.calls;
  std::vector<KernelExecution> out;
  for (ActivityIndex i{0}; i < activities.size(); ++i) {
    if (activities.kind[i] != ActivityKind::kKernel || activities.launch[i] >= timeline.launches.size()) continue;
    const CallIndex call = timeline.launches.call[activities.launch[i]];
    if (call >= calls.size()) continue;
    const std::int64_t last = std::max(calls.end_ns[call], activities.end_ns[i]);
    out.push_back({i, call, activities.begin_ns[i] - calls.end_ns[call], last - calls.begin_ns[call]});
  }
  std::sort(out.begin(), out.end(), [&](const KernelExecution& a, const KernelExecution& b) {
    return std::tuple(calls.begin_ns[a.call], activities.begin_ns[a.kernel], a.kernel) <
           std::tuple(calls.begin_ns[b.call], activities.begin_ns[b.kernel], b.kernel);
  });
  return out;
}

std::size_t KernelExecutionSums::KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint32_t part : key) hash = (hash ^ part) * 0x9E3779B97F4A7C15u, hash ^= hash >> 31;
  return hash;
}

std::uint32_t KernelExecutionSums::group_of(ThreadIndex thread, DeviceIndex device, Label call, Label kernel) {
  const Key key{thread, device, call, kernel};
  if (const auto known = groups_.find(key); known != groups_.end()) return known->second;
  const Key first{thread, device, labels_.first_of(call), labels_.first_of(kernel)};
  const auto [group, is_new] = groups_.try_emplace(first, static_cast<std::uint32_t>(rows_.size()));
  const std::uint32_t number = group->second;
  if (is_new) rows_.push_back({thread, device, first[2], first[3], {}, {}, {}, {}});
  groups_.try_emplace(key, number);
  return number;
}

void KernelExecutionSums::add() {
  const std::vector<Label> names = activity_labels(timeline_, naming_, labels_);
  const CallTable& calls = timeline_.calls;
  const ActivityTable& activities = timeline_.activities;
  for (const KernelExecution& execution : kernel_executions(timeline_)) {
    const DeviceIndex device = timeline_.streams[activities.stream[execution.kernel]].device;
    const std::uint32_t group =
        group_of(calls.thread[execution.call], device, labels_.call(execution.call), names[execution.kernel]);
    totals_.add(group, execution.total_ns);
    apis_.add(group, calls.end_ns[execution.call] - calls.begin_ns[execution.call]);
    if (execution.queue_ns >= 0) queues_.add(group, execution.queue_ns);
    durations_.add(group, activities.end_ns[execution.kernel] - activities.begin_ns[execution.kernel]);
  }
}

std::uint64_t KernelExecutionSums::memory_bytes() const noexcept {
  constexpr std::uint64_t kEntryBytes = 64;  // of a map
  std::uint64_t bytes = groups_.size() * kEntryBytes + rows_.capacity() * sizeof(KernelExecutionSum);
  for (const GroupedSamples* samples : {&totals_, &apis_, &queues_, &durations_}) bytes += samples->memory_bytes();
  return bytes;
}

std::vector<KernelExecutionSum> KernelExecutionSums::rows() const {
  std::vector<KernelExecutionSum> rows = rows_;
  totals_.fill(rows, &KernelExecutionSum::total);
  apis_.fill(rows, &KernelExecutionSum::api);
  queues_.fill(rows, &KernelExecutionSum::queue);
  durations_.fill(rows, &KernelExecutionSum::duration);
  std::sort(rows.begin(), rows.end(), [&](const KernelExecutionSum& a, const KernelExecutionSum& b) {
    if (greater_mean(a.total, b.total) || greater_mean(b.total, a.total)) return greater_mean(a.total, b.total);
    const auto key = [&](const KernelExecutionSum& row) {
      return std::tuple(numbers_of(timeline_, row.thread), timeline_.devices[row.device].id, labels_.text(row.call),
                        labels_.text(row.kernel), row.thread, row.device);
    };
    return key(a) < key(b);
  });
  return rows;
}

std::vector<CallIndex> calls_by_begin(const Timeline& timeline) {
  const CallTable& calls = timeline.calls;
  std::vector<CallIndex> order;
  for (CallIndex call{0}; call < calls.size(); ++call)
    if (calls.domain[call] != CallDomain::kInternal) order.push_back(call);
  const auto before = [&](CallIndex a, CallIndex b) {
    return std::tuple(calls.begin_ns[a], a) < std::tuple(calls.begin_ns[b], b);
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  return order;
}

}  // namespace rangefinder::analysis::nsight
