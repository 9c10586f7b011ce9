// SPDX-License-Identifier: MIT
#include "importer/kineto/metadata.hpp"

#include "base/scaled_decimal.hpp"
#include "importer/kineto/json_text.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace rangefinder::importer::kineto {
namespace {

// Brackets around a member of the trace, of distributedInfo, and of a device.
constexpr unsigned kTraceMemberDepth = 1;

// Traces without a base have microseconds since 1970; what lies before 2001 is no such time.
constexpr std::int64_t kPlausibleWallNs = 1'000'000'000'000'000'000;

/// A whole number at `at`, quoted or not; moves past the value in any case.
std::optional<std::int64_t> integer_at(Cursor& cursor, const char*& at, Scan& scan) noexcept {
  const char* const begin = at;
  scan = skip_value(cursor, at, kTraceMemberDepth + 2);
  if (scan != Scan::kOk) return std::nullopt;
  std::string_view token(begin, static_cast<std::size_t>(at - begin));
  if (token.size() > 1 && token.front() == '"') token = token.substr(1, token.size() - 2);
  const base::ScaledDecimal decimal = base::scaled_decimal(token, 0);
  return decimal.valid && !decimal.rounded ? std::optional(decimal.value) : std::nullopt;
}

/// A column of DeviceInfo by the name that Kineto gives it.
struct DeviceMember {
  std::string_view key;
  void (*store)(DeviceInfo&, std::int64_t);
};

template <auto Member>
constexpr void store(DeviceInfo& device, std::int64_t value) {
  using Number = std::remove_reference_t<decltype(device.*Member)>;
  device.*Member = static_cast<Number>(std::clamp<std::int64_t>(
      value, 0, static_cast<std::int64_t>(std::min<std::uint64_t>(std::numeric_limits<Number>::max(), INT64_MAX))));
}

constexpr DeviceMember kDeviceMembers[] = {
    {"totalGlobalMem", store<&DeviceInfo::memory_bytes>},
    {"computeMajor", store<&DeviceInfo::compute_major>},
    {"computeMinor", store<&DeviceInfo::compute_minor>},
    {"numSms", store<&DeviceInfo::multiprocessors>},
    {"warpSize", store<&DeviceInfo::warp_size>},
    {"maxThreadsPerBlock", store<&DeviceInfo::max_threads_per_block>},
    {"maxThreadsPerMultiprocessor", store<&DeviceInfo::max_threads_per_multiprocessor>},
    {"maxBlocksPerMultiprocessor", store<&DeviceInfo::max_blocks_per_multiprocessor>},
    {"regsPerBlock", store<&DeviceInfo::registers_per_block>},
    {"regsPerMultiprocessor", store<&DeviceInfo::registers_per_multiprocessor>},
    {"sharedMemPerBlock", store<&DeviceInfo::shared_bytes_per_block>},
    {"sharedMemPerBlockOptin", store<&DeviceInfo::shared_bytes_per_block_optin>},
    {"sharedMemPerMultiprocessor", store<&DeviceInfo::shared_bytes_per_multiprocessor>},
    {"maxSharedMemoryPerMultiProcessor", store<&DeviceInfo::shared_bytes_per_multiprocessor>},  // ROCm
};

std::int32_t to_rank(std::int64_t value) noexcept {
  return value < 0 || value > std::numeric_limits<std::int32_t>::max() ? -1 : static_cast<std::int32_t>(value);
}

}  // namespace

void Metadata::add(std::string_view key, const Cursor& cursor, const char* value_end) {
  if (key == "deviceProperties") return read_devices(cursor);
  // Columns hold these, and an export writes them anew.
  if (key == "schemaVersion" || key == "displayTimeUnit") return;
  if (key == "baseTimeNanoseconds") {
    Cursor number = cursor;
    const char* at = cursor.at;
    Scan scan = Scan::kOk;
    base_ns_ = integer_at(number, at, scan).value_or(kNoTime);
    return;
  }
  if (key == "distributedInfo") read_distributed(cursor);
  if (key == "rangefinder" || key == "rangefinder_input") read_ours(cursor);
  const std::string_view raw(cursor.at, static_cast<std::size_t>(value_end - cursor.at));
  if ((key == "host_name" || key == "hostname") && raw.size() > 1 && raw.front() == '"')
    base::append_json_unescaped(host_, raw.substr(1, raw.size() - 2));
  timeline_.metadata.emplace_back(key, metadata_value(raw));
}

/// What a rangefinder export says of itself.
void Metadata::read_ours(Cursor cursor) {
  const char* at = cursor.at;
  if (*at != '{') return;
  (void)for_each_member(cursor, at, [&](const RawText& key, const char*& value) {
    if (key.bytes == "simulated" && *value == 't') timeline_.simulated = true;
    return skip_value(cursor, value, 1);
  });
}

void Metadata::read_devices(Cursor cursor) {
  const char* at = cursor.at;
  bool whole = *at == '[';
  if (whole) {
    whole = for_each_element(cursor, at, [&](const char*& element) {
              read_device(cursor, element, whole);
              return whole ? Scan::kOk : Scan::kBad;
            }) == Scan::kOk;
  }
  if (!whole) timeline_.notes.emplace_back("deviceProperties is not a list of devices; read as far as it is");
}

void Metadata::read_device(Cursor& cursor, const char*& at, bool& whole) {
  DeviceInfo info;
  std::optional<std::int64_t> id;
  const Scan scan = for_each_member(cursor, at, [&](const RawText& key, const char*& value) {
    Scan result = Scan::kOk;
    if (key.bytes == "name" && *value == '"') {
      RawText name;
      result = read_string(cursor, value, name);
      info.name.clear();
      base::append_json_unescaped(info.name, name.bytes);
      return result;
    }
    const std::optional<std::int64_t> number = integer_at(cursor, value, result);
    if (!number) return result;
    if (key.bytes == "id") id = number;
    for (const DeviceMember& member : kDeviceMembers) {
      if (member.key == key.bytes) member.store(info, *number);
    }
    return result;
  });
  whole = scan == Scan::kOk;
  if (!whole || !id) return;
  DeviceInfo& device = timeline_.devices[tracks_.device(*id)];
  info.id = device.id;
  device = std::move(info);
}

void Metadata::read_distributed(Cursor cursor) {
  const char* at = cursor.at;
  for_each_member(cursor, at, [&](const RawText& key, const char*& value) {
    Scan scan = Scan::kOk;
    const std::optional<std::int64_t> number = integer_at(cursor, value, scan);
    if (key.bytes == "rank") rank_ = number.value_or(rank_);
    if (key.bytes == "world_size") world_size_ = number.value_or(world_size_);
    return scan;
  });
}

void Metadata::finish() {
  ProcessInfo& process = timeline_.processes[tracks_.main_process()];
  process.rank = to_rank(rank_);
  process.world_size = to_rank(world_size_);
  process.host = host_;
  if (base_ns_ != kNoTime) {
    timeline_.realtime_offset_ns = base_ns_;
  } else if (timeline_.begin_ns >= kPlausibleWallNs) {
    timeline_.realtime_offset_ns = 0;
  }
}

}  // namespace rangefinder::importer::kineto
