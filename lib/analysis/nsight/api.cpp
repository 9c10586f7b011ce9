// SPDX-License-Identifier: MIT
#include "analysis/nsight/api.hpp"

#include "analysis/nsight/ranges.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

namespace rangefinder::analysis::nsight {
namespace {

using GroupKey = std::array<std::uint32_t, 4>;  // thread, device, call, kernel

struct GroupKeyHash {
  std::size_t operator()(const GroupKey& key) const noexcept {
    std::uint64_t hash = 0;
    for (const std::uint32_t part : key) hash = (hash ^ part) * 0x9E3779B97F4A7C15u, hash ^= hash >> 31;
    return hash;
  }
};

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

std::vector<KernelExecutionSum> kernel_execution_sum(const Timeline& timeline, const KernelNaming& naming,
                                                     Labels& labels) {
  const std::vector<Label> names = activity_labels(timeline, naming, labels);
  std::vector<KernelExecutionSum> rows;
  std::unordered_map<GroupKey, std::uint32_t, GroupKeyHash> groups;
  GroupedSamples totals, apis, queues, durations;
  for (const KernelExecution& execution : kernel_executions(timeline)) {
    const ThreadIndex thread = timeline.calls.thread[execution.call];
    const DeviceIndex device = timeline.streams[timeline.activities.stream[execution.kernel]].device;
    const GroupKey key{thread, device, labels.call(execution.call), names[execution.kernel]};
    const auto [at, is_new] = groups.try_emplace(key, static_cast<std::uint32_t>(rows.size()));
    if (is_new) rows.push_back({thread, device, key[2], key[3], {}, {}, {}, {}});
    totals.add(at->second, execution.total_ns);
    apis.add(at->second, timeline.calls.end_ns[execution.call] - timeline.calls.begin_ns[execution.call]);
    if (execution.queue_ns >= 0) queues.add(at->second, execution.queue_ns);
    durations.add(at->second,
                  timeline.activities.end_ns[execution.kernel] - timeline.activities.begin_ns[execution.kernel]);
  }
  totals.fill(rows, &KernelExecutionSum::total);
  apis.fill(rows, &KernelExecutionSum::api);
  queues.fill(rows, &KernelExecutionSum::queue);
  durations.fill(rows, &KernelExecutionSum::duration);
  std::sort(rows.begin(), rows.end(), [&](const KernelExecutionSum& a, const KernelExecutionSum& b) {
    if (greater_mean(a.total, b.total) || greater_mean(b.total, a.total)) return greater_mean(a.total, b.total);
    const auto key = [&](const KernelExecutionSum& row) {
      return std::tuple(numbers_of(timeline, row.thread), timeline.devices[row.device].id, labels.text(row.call),
                        labels.text(row.kernel), row.thread, row.device);
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
