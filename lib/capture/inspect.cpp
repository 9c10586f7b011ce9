// SPDX-License-Identifier: MIT
#include "capture/capture_reader.hpp"

#include <rangefinder/capture.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

namespace rangefinder {
namespace {

using capture::CaptureReader;
using format::ChunkKind;

const char* kind_name(std::uint16_t kind) noexcept {
  switch (static_cast<ChunkKind>(kind)) {
    case ChunkKind::kMeta:
      return "metadata";
    case ChunkKind::kNames:
      return "names";
    case ChunkKind::kThreads:
      return "threads";
    case ChunkKind::kClock:
      return "clock points";
    case ChunkKind::kHostEvents:
      return "host events";
    case ChunkKind::kKernels:
      return "kernels";
    case ChunkKind::kMemcpys:
      return "copies";
    case ChunkKind::kMemsets:
      return "memsets";
    case ChunkKind::kApiCalls:
      return "API calls";
    case ChunkKind::kSyncs:
      return "synchronisations";
    case ChunkKind::kOverheads:
      return "profiling overhead";
    case ChunkKind::kDevices:
      return "devices";
    case ChunkKind::kContexts:
      return "contexts";
    case ChunkKind::kStreams:
      return "streams";
    case ChunkKind::kHealth:
      return "health";
    case ChunkKind::kWindows:
      return "windows";
    case ChunkKind::kGraphNodes:
      return "graph nodes";
    case ChunkKind::kDeviceSamples:
      return "device samples";
    case ChunkKind::kRangeMetrics:
      return "counters of ranges";
    case ChunkKind::kMetricSamples:
      return "counter samples";
    case ChunkKind::kGraphLaunches:
      return "graph launches";
    case ChunkKind::kAllocations:
      return "allocation calls";
    case ChunkKind::kJits:
      return "compiling of code";
    case ChunkKind::kEnd:
      return "end";
  }
  return "of a newer version";
}

std::string clock_text(const format::FileHeader& header) {
  const char* name = "unknown";
  switch (static_cast<clock::ClockKind>(header.clock_kind)) {
    case clock::ClockKind::kTsc:
      name = "TSC";
      break;
    case clock::ClockKind::kMonotonic:
      return "CLOCK_MONOTONIC";
    case clock::ClockKind::kCounter:
      name = "virtual counter";
      break;
    case clock::ClockKind::kManual:
      return "test clock";
  }
  char text[64];
  std::snprintf(text, sizeof text, "%s at %llu.%03llu MHz", name,
                static_cast<unsigned long long>(header.ticks_per_second / 1'000'000),
                static_cast<unsigned long long>(header.ticks_per_second / 1'000 % 1'000));
  return text;
}

std::int64_t last_time(const CaptureReader& reader) {
  std::int64_t last = reader.header().start_monotonic_ns;
  for (const capture::ChunkEntry& entry : reader.chunks()) {
    if (static_cast<ChunkKind>(entry.header.kind) == ChunkKind::kHostEvents)
      last = std::max(last, reader.monotonic_of_ticks(entry.header.last));
  }
  for (const format::WindowRow& window : reader.windows())
    last = std::max(last, reader.monotonic_of_ticks(std::max(window.begin_ticks, window.end_ticks)));
  return last;
}

std::vector<CaptureContent> contents(const CaptureReader& reader) {
  std::map<std::uint16_t, CaptureContent> by_kind;
  for (const capture::ChunkEntry& entry : reader.chunks()) {
    CaptureContent& content = by_kind[entry.header.kind];
    content.kind = kind_name(entry.header.kind);
    content.chunks += 1;
    content.rows += entry.header.rows;
    content.bytes += sizeof entry.header + entry.header.payload_bytes;
  }
  std::vector<CaptureContent> out;
  for (auto& [kind, content] : by_kind) out.push_back(std::move(content));
  return out;
}

/// Beside the damage that unpacking shows.
class Counting final : public capture::CaptureVisitor {
 public:
  explicit Counting(CaptureInfo& info) : info_(info) {}
  void on_host_events(const format::HostEvents& events) override {
    for (const detail::Record& record : events.records) {
      const detail::RecordKind kind = detail::word_kind(record.word);
      info_.ranges += kind == detail::RecordKind::kBegin || kind == detail::RecordKind::kAsyncBegin ||
                      kind == detail::RecordKind::kNodeBegin;
      info_.steps += kind == detail::RecordKind::kStep && detail::word_id(record.word) != 0;  // 0 begins by itself
      info_.launches += kind == detail::RecordKind::kLaunch;
    }
  }
  void on_kernels(std::span<const format::KernelRow> rows) override { info_.activities += rows.size(); }
  void on_memcpys(std::span<const format::MemcpyRow> rows) override { info_.activities += rows.size(); }
  void on_memsets(std::span<const format::MemsetRow> rows) override { info_.activities += rows.size(); }

 private:
  CaptureInfo& info_;
};

}  // namespace

Result<CaptureInfo> inspect_capture(const std::string& path, bool deep) {
  Result<CaptureReader> reader = CaptureReader::open(path);
  if (!reader) return std::move(reader).error();
  CaptureInfo info;
  if (deep) {
    Counting counting(info);
    if (Status status = reader->visit(counting); !status) return std::move(status).error();
  }
  const format::FileHeader& header = reader->header();
  info.path = path;
  info.format_major = header.major;
  info.format_minor = header.minor;
  info.file_bytes = reader->file_bytes();
  info.pid = header.pid;
  info.start_realtime_ns = header.start_realtime_ns;
  info.duration_ns = last_time(*reader) - header.start_monotonic_ns;
  info.clock = clock_text(header);
  info.clock_error_ns = reader->clock().error_bound_ns();
  info.ended_cleanly = reader->ended_cleanly();
  info.flight_recorder = (header.flags & format::kFlagRing) != 0;
  info.simulated = reader->simulated();
  info.device_state = reader->metadata("device_state");
  info.threads = static_cast<std::uint32_t>(reader->threads().size());
  info.devices = static_cast<std::uint32_t>(reader->devices().size());
  info.names = static_cast<std::uint32_t>(reader->names().size());
  info.content = contents(*reader);
  info.metadata = reader->metadata();
  info.health = reader->health();
  for (const capture::Finding& finding : reader->findings())
    info.findings.push_back({finding.offset, finding.bytes, finding.text});
  return info;
}

}  // namespace rangefinder
