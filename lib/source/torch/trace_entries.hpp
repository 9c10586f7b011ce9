// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/memory.hpp>

#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

// What LibTorch's caching allocator reports, as allocator events. Called under the allocator's locks: nothing here
// calls LibTorch or allocates.
namespace rangefinder::torch {

/// Bytes of the blocks and the segments of each device.
class DeviceTotals {
 public:
  void set(std::int32_t device, std::int64_t allocated, std::int64_t reserved) noexcept {
    if (Totals* const totals = of(device); totals != nullptr) {
      totals->allocated.store(allocated, std::memory_order_relaxed);
      totals->reserved.store(reserved, std::memory_order_relaxed);
    }
  }

  /// Takes the event into account and fills in what it leads to. One device has one lock, which the caller holds.
  void count(detail::MemoryEvent& event) noexcept {
    Totals* const totals = of(event.device);
    if (totals == nullptr) return;
    const auto bytes = static_cast<std::int64_t>(event.bytes);
    std::int64_t blocks = 0;
    std::int64_t segments = 0;
    switch (event.action) {
      case MemoryAction::kAllocate:
        blocks = bytes;
        break;
      case MemoryAction::kFree:
        blocks = -bytes;
        break;
      case MemoryAction::kSegmentAllocate:
      case MemoryAction::kSegmentMap:
        segments = bytes;
        break;
      case MemoryAction::kSegmentFree:
      case MemoryAction::kSegmentUnmap:
        segments = -bytes;
        break;
      case MemoryAction::kOutOfMemory:
        break;
    }
    event.allocated = totals->allocated.fetch_add(blocks, std::memory_order_relaxed) + blocks;
    event.reserved = totals->reserved.fetch_add(segments, std::memory_order_relaxed) + segments;
  }

 private:
  struct Totals {
    std::atomic<std::int64_t> allocated{0};
    std::atomic<std::int64_t> reserved{0};
  };
  static constexpr std::size_t kDevices = 128;  // c10::DeviceIndex is a byte with a sign

  Totals* of(std::int32_t device) noexcept {
    return device >= 0 && static_cast<std::size_t>(device) < kDevices ? &devices_[static_cast<std::size_t>(device)]
                                                                      : nullptr;
  }

  std::array<Totals, kDevices> devices_;
};

/// A private pool's number: a graph's as it is, one that the program made with the highest bit set. 0: the default
/// pool.
constexpr std::uint64_t pool_number(unsigned long long of_graph, unsigned long long of_program) noexcept {
  return of_program != 0 ? std::uint64_t{1} << 63 | of_program : of_graph;
}

/// The matching MemoryAction; nothing if there is none. A free that was asked for is a free: that it is completed
/// later, when other streams are done with the block, changes nothing in what the program holds.
inline std::optional<MemoryAction> action_of(c10::CachingDeviceAllocator::TraceEntry::Action action) noexcept {
  using Entry = c10::CachingDeviceAllocator::TraceEntry;
  switch (action) {
    case Entry::ALLOC:
      return MemoryAction::kAllocate;
    case Entry::FREE_REQUESTED:
      return MemoryAction::kFree;
    case Entry::SEGMENT_ALLOC:
      return MemoryAction::kSegmentAllocate;
    case Entry::SEGMENT_FREE:
      return MemoryAction::kSegmentFree;
    case Entry::SEGMENT_MAP:
      return MemoryAction::kSegmentMap;
    case Entry::SEGMENT_UNMAP:
      return MemoryAction::kSegmentUnmap;
    case Entry::OOM:
      return MemoryAction::kOutOfMemory;
    case Entry::FREE_COMPLETED:
    case Entry::SNAPSHOT:
      break;
  }
  return std::nullopt;
}

inline std::optional<detail::MemoryEvent> event_of(const c10::CachingDeviceAllocator::TraceEntry& entry) noexcept {
  const std::optional<MemoryAction> action = action_of(entry.action_);
  if (!action) return std::nullopt;
  detail::MemoryEvent event;
  event.action = *action;
  event.device = entry.device_;
  event.address = *action == MemoryAction::kOutOfMemory ? 0 : entry.addr_;  // there it is what the device has left
  event.bytes = entry.size_;
  event.stream = reinterpret_cast<std::uintptr_t>(entry.stream_);
  event.pool = pool_number(entry.mempool_.first, entry.mempool_.second);
  return event;
}

}  // namespace rangefinder::torch
