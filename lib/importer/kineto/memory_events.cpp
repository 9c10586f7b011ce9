// SPDX-License-Identifier: MIT
#include "importer/kineto/memory_events.hpp"

#include "base/scaled_decimal.hpp"
#include "importer/kineto/json_text.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

namespace rangefinder::importer::kineto {
namespace {

constexpr std::int64_t kMaxDevices = 1 << 16;

struct Values {
  std::optional<std::int64_t> bytes, address, allocated, reserved, device, device_type;

  std::optional<std::int64_t>* of(std::string_view key) noexcept {
    if (key == "Bytes") return &bytes;
    if (key == "Addr") return &address;
    if (key == "Total Allocated") return &allocated;
    if (key == "Total Reserved") return &reserved;
    if (key == "Device Id") return &device;
    if (key == "Device Type") return &device_type;
    return nullptr;
  }
};

Values values_of(const Event& event) {
  Values values;
  if (event.arguments_at == nullptr) return values;
  Cursor cursor{event.arguments_at, event.json.data() + event.json.size(), ""};
  const char* at = cursor.at;
  std::string scratch;
  for_each_member(cursor, at, [&](const RawText& key, const char*& value) {
    const char* const begin = value;
    const Scan scan = skip_value(cursor, value, 0);
    std::string_view token(begin, static_cast<std::size_t>(value - begin));
    if (token.size() > 1 && token.front() == '"') token = token.substr(1, token.size() - 2);
    std::optional<std::int64_t>* const wanted = values.of(meaning(key, scratch));
    const base::ScaledDecimal number = base::scaled_decimal(token, 0);
    if (wanted != nullptr && number.valid && !number.rounded) *wanted = number.value;
    return scan;
  });
  return values;
}

std::uint64_t magnitude(std::int64_t value) noexcept {
  return value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

}  // namespace

bool add_memory_event(const Event& event, ThreadIndex thread, std::int64_t source_row, AllocatorEventTable& table) {
  if (!event.time.usable()) return false;
  const Values values = values_of(event);
  if (!values.bytes) return false;
  // LibTorch's number of the host is type 0 with device -1.
  const std::int64_t device = values.device.value_or(-1);
  const bool on_host = values.device_type.value_or(device < 0 ? 0 : 1) == 0;
  // The host's allocator reserves nothing, and torch.profiler writes 0 for that.
  table.append({.thread = thread,
                .time_ns = event.time.ns,
                .action = event.name.bytes != "[memory]" ? MemoryAction::kOutOfMemory
                          : *values.bytes < 0            ? MemoryAction::kFree
                                                         : MemoryAction::kAllocate,
                .device = on_host ? -1 : static_cast<std::int32_t>(std::clamp<std::int64_t>(device, 0, kMaxDevices)),
                .address = static_cast<std::uint64_t>(values.address.value_or(0)),
                .bytes = magnitude(*values.bytes),
                .allocated = std::max<std::int64_t>(values.allocated.value_or(-1), -1),
                .reserved = on_host ? -1 : std::max<std::int64_t>(values.reserved.value_or(-1), -1),
                .source_row = source_row});
  return true;
}

}  // namespace rangefinder::importer::kineto
