// SPDX-License-Identifier: MIT
#include "exporter/nsight/rows.hpp"

#include <cstdio>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace rangefinder::nsight_export {
namespace {

void write_processes(Export& out) {
  const Timeline& timeline = out.timeline;
  Insert processes(out.output, "PROCESSES", {"globalPid", "pid", "name"});
  for (ProcessIndex process{0}; process < timeline.processes.size(); ++process) {
    const ProcessInfo& info = timeline.processes[process];
    processes.row(out.ids.process(process), info.pid, info.name);
  }
  Insert names(out.output, "ThreadNames", {"nameId", "priority", "globalTid"});
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    const ThreadInfo& info = timeline.threads[thread];
    const std::int64_t shown = out.ids.thread(thread) & 0xFFFFFF;
    std::string name = info.name;
    if (shown != info.tid) name += (name.empty() ? "thread " : ", thread ") + std::to_string(info.tid);
    if (!name.empty()) names.row(out.strings.id(name), info.priority, out.ids.thread(thread));
  }
}

void write_machines(Export& out) {
  const Timeline& timeline = out.timeline;
  Insert details(out.output, "ANALYSIS_DETAILS", {"globalVid", "duration", "startTime", "stopTime"});
  Insert environment(out.output, "TARGET_INFO_SYSTEM_ENV", {"globalVid", "name", "value"});
  std::set<std::int64_t> written;
  for (ProcessIndex process{0}; process < timeline.processes.size(); ++process) {
    const std::int64_t machine = out.ids.machine(process) << 48;
    if (!written.insert(machine).second) continue;
    const std::int64_t length_ns = out.time(timeline.end_ns);
    details.row(machine, length_ns, 0, length_ns);
    const std::string& host = timeline.processes[process].host;
    if (!host.empty()) environment.row(machine, "Hostname", host);
  }
}

/// "2023-11-14 22:13:20", UTC.
std::string utc_text(std::int64_t realtime_ns) {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  const std::time_t seconds = static_cast<std::time_t>(realtime_ns / kPerSecond);
  std::tm parts{};
  char text[32] = "";
  if (::gmtime_r(&seconds, &parts) != nullptr) (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

void write_clock(Export& out) {
  const Timeline& timeline = out.timeline;
  if (timeline.realtime_offset_ns == kNoTime) return;
  const std::int64_t began_ns = timeline.begin_ns + timeline.realtime_offset_ns;
  Insert insert(out.output, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs", "utcTime", "localTime"});
  insert.row(began_ns, utc_text(began_ns), utc_text(began_ns));
}

template <typename Number>
std::optional<Number> if_known(Number value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

/// A board is told by its UUID where that is known, else by the number that the process gives it: processes of one
/// machine that see the same number see the same board, unless CUDA_VISIBLE_DEVICES differs.
class GpuRows {
 public:
  explicit GpuRows(Export& out)
      : out_(out),
        gpus_(out.output, "TARGET_INFO_GPU",
              {"vmId",
               "id",
               "name",
               "totalMemory",
               "smCount",
               "uuid",
               "cuDevice",
               "maxRegistersPerBlock",
               "maxShmemPerBlock",
               "maxShmemPerBlockOptin",
               "maxShmemPerSm",
               "maxRegistersPerSm",
               "threadsPerWarp",
               "maxWarpsPerSm",
               "maxBlocksPerSm",
               "maxThreadsPerBlock",
               "computeMajor",
               "computeMinor",
               "smMajor",
               "smMinor"}),
        devices_(out.output, "TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid", "uuid", "numMultiprocessors"}) {}

  void write() {
    for (const DeviceInfo& device : out_.timeline.devices) {
      const std::int64_t machine = out_.ids.machine(device.process);
      const std::uint32_t number = device.board.empty() ? device.id : kNone;
      const auto [found, added] = numbers_.try_emplace({machine, device.board, number}, numbers_.size());
      if (added) write_gpu(device, machine, found->second);
      devices_.row(found->second, device.id, out_.timeline.processes[device.process].pid, device.board,
                   if_known(device.multiprocessors));
    }
  }

 private:
  void write_gpu(const DeviceInfo& device, std::int64_t machine, std::uint64_t number) {
    std::optional<std::uint32_t> warps;
    if (device.warp_size != 0) warps = if_known(device.max_threads_per_multiprocessor / device.warp_size);
    gpus_.row(machine, number, device.name, if_known(device.memory_bytes), if_known(device.multiprocessors),
              device.board, device.id, if_known(device.registers_per_block), if_known(device.shared_bytes_per_block),
              if_known(device.shared_bytes_per_block_optin), if_known(device.shared_bytes_per_multiprocessor),
              if_known(device.registers_per_multiprocessor), if_known(device.warp_size), warps,
              if_known(device.max_blocks_per_multiprocessor), if_known(device.max_threads_per_block),
              if_known(device.compute_major), device.compute_minor, if_known(device.compute_major),
              device.compute_minor);
  }

  Export& out_;
  Insert gpus_, devices_;
  std::map<std::tuple<std::int64_t, std::string, std::uint32_t>, std::uint64_t> numbers_;
};

void write_streams(Export& out) {
  const Timeline& timeline = out.timeline;
  Insert streams(out.output, "TARGET_INFO_CUDA_STREAM",
                 {"streamId", "hwId", "vmId", "processId", "contextId", "priority", "flag"});
  for (const StreamInfo& stream : timeline.streams) {
    const DeviceInfo& device = timeline.devices[stream.device];
    streams.row(stream.id, 0, out.ids.machine(device.process), timeline.processes[device.process].pid, stream.context,
                0, 1);
  }
}

}  // namespace

void write_places(Export& out) {
  write_processes(out);
  write_machines(out);
  write_clock(out);
  GpuRows(out).write();
  write_streams(out);
}

}  // namespace rangefinder::nsight_export
