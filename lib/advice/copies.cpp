// SPDX-License-Identifier: MIT
#include "advice/copies.hpp"

#include "advice/launches.hpp"

#include <algorithm>
#include <string_view>

namespace rangefinder::advice {
namespace {

constexpr std::uint32_t kHostToDevice = 1, kDeviceToHost = 2;  // CUpti_ActivityMemcpyKind
constexpr std::uint32_t kPageable = 1;                         // CUpti_ActivityMemoryKind

const CopyDetail* detail_of(const Timeline& timeline, ActivityIndex copy) noexcept {
  const std::uint32_t detail = timeline.activities.detail[copy];
  const bool is_memcpy = timeline.activities.kind[copy] == ActivityKind::kMemcpy;
  return is_memcpy && detail < timeline.copy_details.size() ? &timeline.copy_details[detail] : nullptr;
}

}  // namespace

CopyDirection direction_of(const Timeline& timeline, ActivityIndex copy) noexcept {
  const CopyDetail* const detail = detail_of(timeline, copy);
  if (detail == nullptr) return CopyDirection::kOther;
  if (detail->copy_kind == kHostToDevice) return CopyDirection::kToDevice;
  return detail->copy_kind == kDeviceToHost ? CopyDirection::kToHost : CopyDirection::kOther;
}

bool is_pageable(const Timeline& timeline, ActivityIndex copy) noexcept {
  const CopyDetail* const detail = detail_of(timeline, copy);
  if (detail == nullptr) return false;
  return (detail->copy_kind == kHostToDevice && detail->source_memory == kPageable) ||
         (detail->copy_kind == kDeviceToHost && detail->target_memory == kPageable);
}

std::vector<analysis::Wait> waits_for_pageable_copies(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  const CallTable& calls = timeline.calls;
  std::vector<analysis::Wait> waits;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (!is_pageable(timeline, row)) continue;
    const CallIndex call = call_of(timeline, row);
    if (call >= calls.size() || calls.thread[call] >= timeline.threads.size()) continue;
    if (timeline.text(calls.name[call]).find("Async") == std::string_view::npos) continue;
    const std::int64_t end_ns = detail::plus(calls.end_ns[call], timeline.clock_error_ns);
    if (activities.end_ns[row] <= calls.begin_ns[call] || activities.end_ns[row] > end_ns) continue;
    analysis::Wait wait;
    wait.reason = analysis::WaitReason::kCopy;
    wait.call = call;
    wait.thread = calls.thread[call];
    wait.begin_ns = calls.begin_ns[call];
    wait.end_ns = calls.end_ns[call];
    wait.stream = activities.stream[row];
    wait.last = row;
    waits.push_back(wait);
  }
  return waits;
}

bool tells_memory(const Timeline& timeline) noexcept {
  return std::any_of(timeline.copy_details.begin(), timeline.copy_details.end(),
                     [](const CopyDetail& copy) { return copy.source_memory != 0 || copy.target_memory != 0; });
}

}  // namespace rangefinder::advice
