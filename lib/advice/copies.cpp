// SPDX-License-Identifier: MIT
#include "advice/copies.hpp"

#include <algorithm>

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

bool tells_memory(const Timeline& timeline) noexcept {
  return std::any_of(timeline.copy_details.begin(), timeline.copy_details.end(),
                     [](const CopyDetail& copy) { return copy.source_memory != 0 || copy.target_memory != 0; });
}

}  // namespace rangefinder::advice
