// SPDX-License-Identifier: MIT
#include "importer/nsight/name_tables.hpp"

#include "base/text.hpp"
#include "importer/nsight/table_scan.hpp"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::importer::nsight {
namespace {

constexpr std::size_t kMaxMessages = 8;
constexpr std::size_t kLongestMessage = 300;

void read_process_names(ImportContext& context, const Entities& entities) {
  enum { kGlobalPid, kName };
  static constexpr WantedColumn kColumns[] = {required("globalPid"), required("name")};
  TableScan row(context, "PROCESSES", kColumns);
  while (row.next()) {
    const auto id = row.integer(kGlobalPid);
    const auto process = id ? entities.find_process(*id) : std::nullopt;
    // A process that executed another program has two rows: the last is what ran.
    if (const auto name = process ? row.text(kName) : std::nullopt) context.timeline.processes[*process].name = *name;
  }
}

void read_thread_names(ImportContext& context, StringTable& strings, const Entities& entities) {
  enum { kNameId, kGlobalTid, kPriority };
  static constexpr WantedColumn kColumns[] = {required("nameId"), required("globalTid"), optional("priority")};
  TableScan row(context, "ThreadNames", kColumns);
  while (row.next()) {
    const auto id = row.integer(kGlobalTid);
    const auto thread = id ? entities.find_thread(*id) : std::nullopt;
    if (!thread) continue;
    ThreadInfo& info = context.timeline.threads[*thread];
    if (const auto name = row.integer(kNameId)) info.name = context.timeline.text(strings.resolve(context, *name));
    if (const auto priority = row.integer(kPriority)) info.priority = static_cast<std::int32_t>(*priority);
  }
}

enum GpuColumn {
  kGpuId,
  kGpuName,
  kCuDevice,
  kMemory,
  kSms,
  kWarp,
  kWarpsPerSm,
  kBlocksPerSm,
  kThreadsPerBlock,
  kRegistersPerBlock,
  kRegistersPerSm,
  kSharedPerBlock,
  kSharedPerBlockOptin,
  kSharedPerSm,
  kMajor,
  kMinor,
};
constexpr std::array kGpuColumns = {
    required("id"),
    optional("name"),
    optional("cuDevice"),
    optional("totalMemory"),
    optional("smCount"),
    optional("threadsPerWarp"),
    optional("maxWarpsPerSm"),
    optional("maxBlocksPerSm"),
    optional("maxThreadsPerBlock"),
    optional("maxRegistersPerBlock"),
    optional("maxRegistersPerSm"),
    optional("maxShmemPerBlock"),
    optional("maxShmemPerBlockOptin"),
    optional("maxShmemPerSm"),
    optional("computeMajor"),
    optional("computeMinor"),
};

struct Gpu {
  std::int64_t id = 0;
  std::int64_t cuda_id = 0;
  DeviceInfo info;
};

std::vector<Gpu> read_gpus(ImportContext& context) {
  std::vector<Gpu> gpus;
  TableScan row(context, "TARGET_INFO_GPU", kGpuColumns);
  const auto unsigned_of = [&](int column) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.integer_or(column, 0)));
  };
  while (row.next()) {
    Gpu gpu;
    gpu.id = row.integer_or(kGpuId, 0);
    gpu.cuda_id = row.integer_or(kCuDevice, gpu.id);
    gpu.info.name = row.text(kGpuName).value_or(std::string_view{});
    gpu.info.memory_bytes = unsigned_of(kMemory);
    gpu.info.multiprocessors = row.u32_or(kSms, 0);
    gpu.info.warp_size = row.u32_or(kWarp, 0);
    const std::uint64_t threads = std::uint64_t{row.u32_or(kWarpsPerSm, 0)} * gpu.info.warp_size;
    gpu.info.max_threads_per_multiprocessor = static_cast<std::uint32_t>(std::min<std::uint64_t>(threads, kNone - 1));
    gpu.info.max_blocks_per_multiprocessor = row.u32_or(kBlocksPerSm, 0);
    gpu.info.max_threads_per_block = row.u32_or(kThreadsPerBlock, 0);
    gpu.info.registers_per_block = row.u32_or(kRegistersPerBlock, 0);
    gpu.info.registers_per_multiprocessor = row.u32_or(kRegistersPerSm, 0);
    gpu.info.shared_bytes_per_block = unsigned_of(kSharedPerBlock);
    gpu.info.shared_bytes_per_block_optin = unsigned_of(kSharedPerBlockOptin);
    gpu.info.shared_bytes_per_multiprocessor = unsigned_of(kSharedPerSm);
    gpu.info.compute_major = row.u32_or(kMajor, 0);
    gpu.info.compute_minor = row.u32_or(kMinor, 0);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

// Which GPU a process means by a CUDA device number: CUDA_VISIBLE_DEVICES may differ between processes.
std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> read_device_numbers(ImportContext& context) {
  enum { kGpu, kCuda, kPid };
  static constexpr WantedColumn kColumns[] = {required("gpuId"), required("cudaId"), optional("pid")};
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> numbers;
  TableScan row(context, "TARGET_INFO_CUDA_DEVICE", kColumns);
  while (row.next()) {
    const auto gpu = row.integer(kGpu);
    const auto cuda = row.integer(kCuda);
    if (gpu && cuda) numbers.emplace(std::pair(row.integer_or(kPid, 0), *cuda), *gpu);
  }
  return numbers;
}

void read_devices(ImportContext& context) {
  const std::vector<Gpu> gpus = read_gpus(context);
  const auto numbers = read_device_numbers(context);
  Timeline& timeline = context.timeline;
  for (DeviceInfo& device : timeline.devices) {
    const auto number = numbers.find({timeline.processes[device.process].pid, std::int64_t{device.id}});
    for (const Gpu& gpu : gpus) {
      const bool matches = number != numbers.end() ? gpu.id == number->second : gpu.cuda_id == std::int64_t{device.id};
      if (!matches) continue;
      const DeviceInfo unnamed = device;
      device = gpu.info;
      device.process = unnamed.process;
      device.id = unnamed.id;
      break;
    }
  }
}

void read_host(ImportContext& context) {
  enum { kName, kValue };
  static constexpr WantedColumn kColumns[] = {required("name"), required("value")};
  TableScan row(context, "TARGET_INFO_SYSTEM_ENV", kColumns);
  std::string host;
  while (row.next())
    if (host.empty() && row.text(kName) == "Hostname") host = row.text(kValue).value_or(std::string_view{});
  for (ProcessInfo& process : context.timeline.processes) process.host = host;
}

void read_metadata(ImportContext& context) {
  enum { kName, kValue };
  static constexpr WantedColumn kColumns[] = {required("name"), required("value")};
  static constexpr std::pair<std::string_view, const char*> kKept[] = {
      {"EXPORT_PRODUCT_VERSION", "nsight_product_version"}, {"EXPORT_SCHEMA_VERSION", "nsight_schema_version"}};
  TableScan row(context, "META_DATA_EXPORT", kColumns);
  while (row.next()) {
    const std::string name(row.text(kName).value_or(std::string_view{}));
    for (const auto& [theirs, ours] : kKept) {
      if (name != theirs) continue;
      std::string value;
      base::append_json_string(value, row.text(kValue).value_or(std::string_view{}));
      context.timeline.metadata.emplace_back(ours, std::move(value));
    }
  }
}

// Times in the tables count from the host's boot; the session's start is known on both clocks.
void read_wall_clock(ImportContext& context) {
  enum { kUtc, kSystemClock };
  static constexpr WantedColumn kSessionColumns[] = {required("utcEpochNs"), optional("systemClockNs")};
  static constexpr WantedColumn kAnalysisColumns[] = {required("startTime")};
  std::optional<std::int64_t> utc, begin;
  {
    TableScan row(context, "TARGET_INFO_SESSION_START_TIME", kSessionColumns);
    if (row.next()) {
      utc = row.integer(kUtc);
      begin = row.integer(kSystemClock);
    }
  }
  if (!begin) {
    TableScan row(context, "ANALYSIS_DETAILS", kAnalysisColumns);
    if (row.next()) begin = row.integer(0);
  }
  if (utc && valid_time(*utc) && valid_time(begin.value_or(0)))
    context.timeline.realtime_offset_ns = *utc - begin.value_or(0);
}

// What Nsight itself warned of while recording: dropped events, missing rights.
void read_diagnostics(ImportContext& context) {
  enum { kSeverity, kText };
  enum Severity : std::int64_t { kWarning = 2, kError = 3 };
  static constexpr WantedColumn kColumns[] = {required("severity"), required("text")};
  TableScan row(context, "DIAGNOSTIC_EVENT", kColumns);
  std::uint64_t messages = 0;
  while (row.next()) {
    const auto severity = row.integer(kSeverity);
    if (severity != kWarning && severity != kError) continue;
    if (messages++ >= kMaxMessages) continue;
    const std::string_view text = row.text(kText).value_or(std::string_view{});
    context.note("Nsight Systems " + std::string(severity == kError ? "error: " : "warning: ") +
                 std::string(text.substr(0, kLongestMessage)));
  }
  if (messages > kMaxMessages)
    context.note(base::with_thousands(messages - kMaxMessages) + " more warnings of Nsight Systems");
}

}  // namespace

void read_names(ImportContext& context, StringTable& strings, Entities& entities) {
  read_process_names(context, entities);
  read_thread_names(context, strings, entities);
  read_devices(context);
  read_host(context);
  read_metadata(context);
  read_wall_clock(context);
  read_diagnostics(context);
}

}  // namespace rangefinder::importer::nsight
