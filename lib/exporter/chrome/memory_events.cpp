// SPDX-License-Identifier: MIT
#include "exporter/chrome/memory_events.hpp"

#include "exporter/chrome/head_cache.hpp"
#include "exporter/chrome/markers.hpp"
#include "timeline/activity_names.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace rangefinder::chrome {
namespace {

// LibTorch's numbers of device types.
constexpr std::int64_t kHostType = 0;
constexpr std::int64_t kCudaType = 1;

bool is_of_segment(MemoryAction action) noexcept {
  return action == MemoryAction::kSegmentAllocate || action == MemoryAction::kSegmentFree ||
         action == MemoryAction::kSegmentMap || action == MemoryAction::kSegmentUnmap;
}

void write_instant(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const MemoryPoint& point) {
  std::string head;
  append_head(head, 'i', "cpu_instant_event",
              point.action == MemoryAction::kOutOfMemory ? "[OutOfMemory]" : "[memory]");
  head += ",\"s\":\"t\"";
  const bool host = point.device < 0;
  const auto bytes =
      static_cast<std::int64_t>(std::min<std::uint64_t>(point.bytes, std::numeric_limits<std::int64_t>::max()));
  writer.open_point(head, ids, time_ns);
  // The host's allocator reserves nothing; torch.profiler says 0.
  if (point.reserved >= 0 || host)
    writer.signed_argument("\"Total Reserved\":", std::max<std::int64_t>(point.reserved, 0));
  if (point.allocated >= 0) writer.signed_argument("\"Total Allocated\":", point.allocated);
  writer.signed_argument("\"Bytes\":", point.action == MemoryAction::kFree ? -bytes : bytes);
  writer.signed_argument("\"Device Id\":", point.device);
  writer.signed_argument("\"Device Type\":", host ? kHostType : kCudaType);
  writer.argument("\"Addr\":", point.address);
  writer.close();
}

void write_total(EventWriter& writer, std::string_view ids, std::int64_t time_ns, std::string_view what,
                 std::int32_t device, std::int64_t bytes) {
  const std::string name = std::string(what) + " bytes, " + (device < 0 ? "host" : "cuda:" + std::to_string(device));
  write_counter(writer, ids, time_ns, {name, true, bytes, 0});
}

}  // namespace

void write_allocation(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const AllocationPoint& point) {
  std::string head;
  append_head(
      head, 'i', "cuda_memory",
      std::string(point.freed ? "Free (" : "Allocate (") + std::string(timeline::memory_name(point.memory)) + ")");
  head += ",\"s\":\"t\"";
  writer.open_point(head, ids, time_ns);
  writer.argument("\"Addr\":", point.address);
  writer.argument("\"Bytes\":", point.bytes);
  if (point.device >= 0) writer.signed_argument("\"device\":", point.device);
  if (point.stream >= 0) writer.signed_argument("\"stream\":", point.stream);
  if (point.pool != 0) writer.argument("\"pool\":", point.pool);
  if (point.correlation != 0) writer.argument("\"correlation\":", point.correlation);
  writer.close();
}

void write_memory(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const MemoryPoint& point,
                  bool counters) {
  const bool of_segment = is_of_segment(point.action);
  if (!of_segment) write_instant(writer, ids, time_ns, point);
  if (!counters) return;
  if (!of_segment && point.allocated >= 0)
    write_total(writer, ids, time_ns, "allocated", point.device, point.allocated);
  if (of_segment && point.reserved >= 0) write_total(writer, ids, time_ns, "reserved", point.device, point.reserved);
}

}  // namespace rangefinder::chrome
