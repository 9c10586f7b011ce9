// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "cli/command.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/timeline.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <memory>

namespace rangefinder::cli {
namespace {

using base::printable;

std::string wall_time(std::int64_t realtime_ns) {
  const std::time_t seconds = realtime_ns / 1'000'000'000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03} UTC", utc, realtime_ns / 1'000'000 % 1'000);
}

std::string health_text(const CaptureHealth& health) {
  std::string out;
  for (const CaptureHealth::Entry& entry : health.entries()) {
    if (entry.count != 0) out += fmt::format("  {:>14}  {}\n", base::with_thousands(entry.count), entry.text);
  }
  return out.empty() ? std::string("  nothing lost\n") : out;
}

std::string health_json(const CaptureHealth& health) {
  std::string out = "{";
  for (const CaptureHealth::Entry& entry : health.entries()) {
    if (entry.count != 0)
      out += fmt::format("{}{}:{}", out.size() == 1 ? "" : ",", json_string(entry.name), entry.count);
  }
  return out + "}";
}

std::string capture_text(const CaptureInfo& info) {
  std::string out = fmt::format("{}: capture, format {}.{}, {} bytes\n", printable(info.path), info.format_major,
                                info.format_minor, base::with_thousands(info.file_bytes));
  const auto line = [&](const char* what, const std::string& value) {
    out += fmt::format("  {:<16}{}\n", what, value);
  };
  if (info.simulated) line("simulated", "the device records come from a script, not from a GPU");
  line("recorded", fmt::format("{}, {:.3f} s, process {}", wall_time(info.start_realtime_ns),
                               static_cast<double>(info.duration_ns) / 1e9, info.pid));
  line("ended", info.ended_cleanly ? "by the program" : "no: the program died, or still runs");
  if (info.flight_recorder) line("mode", "flight recorder: the beginning is missing on purpose");
  line("device activity", info.device_state.empty() ? "unknown" : printable(info.device_state));
  line("clock", fmt::format("{}, device times within {} ns", info.clock, info.clock_error_ns));
  const auto counted = [](auto count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  line("holds",
       counted(info.threads, "thread") + ", " + counted(info.devices, "device") + ", " + counted(info.names, "name"));
  out += "\n  content             chunks            rows           bytes\n";
  for (const CaptureContent& content : info.content)
    out += fmt::format("  {:<18}{:>8}{:>16}{:>16}\n", content.kind, base::with_thousands(content.chunks),
                       base::with_thousands(content.rows), base::with_thousands(content.bytes));
  out += "\n  facts\n";
  for (const auto& [key, value] : info.metadata) out += fmt::format("  {:<20}{}\n", printable(key), printable(value));
  return out + "\n  health\n" + health_text(info.health);
}

std::string capture_json(const CaptureInfo& info) {
  std::string out = fmt::format(
      "{{\"schema_version\":1,\"path\":{},\"format\":\"capture\",\"format_version\":\"{}.{}\",\"file_bytes\":{},"
      "\"pid\":{},"
      "\"start_realtime_ns\":{},\"duration_ns\":{},\"ended_cleanly\":{},\"flight_recorder\":{},\"simulated\":{},"
      "\"device_state\":{},"
      "\"clock\":{},\"clock_error_ns\":{},\"threads\":{},\"devices\":{},\"names\":{},\"content\":[",
      json_string(info.path), info.format_major, info.format_minor, info.file_bytes, info.pid, info.start_realtime_ns,
      info.duration_ns, info.ended_cleanly, info.flight_recorder, info.simulated, json_string(info.device_state),
      json_string(info.clock), info.clock_error_ns, info.threads, info.devices, info.names);
  for (std::size_t i = 0; i < info.content.size(); ++i) {
    const CaptureContent& content = info.content[i];
    out += fmt::format("{}{{\"kind\":{},\"chunks\":{},\"rows\":{},\"bytes\":{}}}", i == 0 ? "" : ",",
                       json_string(content.kind), content.chunks, content.rows, content.bytes);
  }
  out += "],\"metadata\":{";
  for (std::size_t i = 0; i < info.metadata.size(); ++i)
    out += fmt::format("{}{}:{}", i == 0 ? "" : ",", json_string(info.metadata[i].first),
                       json_string(info.metadata[i].second));
  return out + "},\"health\":" + health_json(info.health) + "}\n";
}

const char* format_name(InputFormat format) {
  switch (format) {
    case InputFormat::kCapture:
      return "captures";
    case InputFormat::kKineto:
      return "torch.profiler trace";
    case InputFormat::kNsight:
      return "Nsight Systems export";
  }
  return "unknown";
}

struct Count {
  const char* what;
  std::size_t count;
};

std::vector<Count> counts(const Timeline& timeline) {
  return {{"ranges", timeline.ranges.size()},
          {"API calls", timeline.calls.size()},
          {"launches", timeline.launches.size()},
          {"device activities", timeline.activities.size()},
          {"synchronisations", timeline.syncs.size()},
          {"overheads", timeline.overheads.size()},
          {"allocation calls", timeline.cuda_allocations.size()},
          {"marks", timeline.marks.size()},
          {"counter samples", timeline.counters.size()},
          {"steps", timeline.steps.size()},
          {"processes", timeline.processes.size()},
          {"threads", timeline.threads.size()},
          {"devices", timeline.devices.size()},
          {"streams", timeline.streams.size()}};
}

std::string process_text(const ProcessInfo& process) {
  std::string out = fmt::format("  process {:<10}", process.pid);
  if (process.rank >= 0) out += fmt::format("rank {} ", process.rank);
  if (!process.host.empty()) out += "on " + printable(process.host) + " ";
  return out + printable(process.name) + "\n";
}

std::string process_json(const ProcessInfo& process) {
  return fmt::format("{{\"pid\":{},\"name\":{},\"host\":{},\"rank\":{},\"world_size\":{}}}", process.pid,
                     json_string(process.name), json_string(process.host), process.rank, process.world_size);
}

std::string host_json(const HostInfo& host) {
  return fmt::format("{{\"name\":{},\"shift_ns\":{},\"error_ns\":{},\"collectives\":{}}}", json_string(host.name),
                     host.shift_ns, host.error_ns == kNoTime ? "null" : std::to_string(host.error_ns),
                     host.collectives);
}

template <typename Items, typename Text>
std::string json_list(const Items& items, Text text) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() == 1 ? "" : ",") + text(item);
  return out + "]";
}

std::string timeline_text(const std::string& path, const Timeline& timeline) {
  std::string out = fmt::format("{}: {}, {:.3f} s\n", printable(path), format_name(timeline.format),
                                static_cast<double>(timeline.end_ns - timeline.begin_ns) / 1e9);
  for (const Count& row : counts(timeline)) {
    if (row.count != 0) out += fmt::format("  {:<18}{:>14}\n", row.what, base::with_thousands(row.count));
  }
  for (const ProcessInfo& process : timeline.processes) out += process_text(process);
  for (const DeviceInfo& device : timeline.devices)
    out += fmt::format("  device {:<11}{}\n", device.id, device.name.empty() ? "unknown" : printable(device.name));
  for (const std::string& note : timeline.notes) out += "  note: " + printable(note) + "\n";
  return out + "\n  health\n" + health_text(timeline.health);
}

std::string timeline_json(const std::string& path, const Timeline& timeline) {
  std::string out =
      fmt::format("{{\"schema_version\":1,\"path\":{},\"format\":{},\"begin_ns\":{},\"end_ns\":{},\"counts\":{{",
                  json_string(path), json_string(format_name(timeline.format)), timeline.begin_ns, timeline.end_ns);
  const std::vector<Count> rows = counts(timeline);
  for (std::size_t i = 0; i < rows.size(); ++i)
    out += fmt::format("{}{}:{}", i == 0 ? "" : ",", json_string(rows[i].what), rows[i].count);
  out += "},\"processes\":" + json_list(timeline.processes, process_json);
  out += ",\"hosts\":" + json_list(timeline.hosts, host_json);
  out += ",\"notes\":" + json_list(timeline.notes, json_string);
  return out + ",\"health\":" + health_json(timeline.health) + "}\n";
}

int run_info(const Common& common, const std::string& path) {
  bound_memory(common);
  Result<CaptureInfo> info = inspect_capture(path, false);
  if (info.ok()) {
    write_stdout(common.json ? capture_json(*info) : capture_text(*info));
    return common.strict && !info->health.complete() ? kIncomplete : kSuccess;
  }
  Progress progress(common.terminal, common.shows_progress(), "reading " + path);
  const Result<Timeline> timeline = load_timeline(path, load_options(common, progress));
  if (!timeline) return fail(timeline.error());
  write_stdout(common.json ? timeline_json(path, *timeline) : timeline_text(path, *timeline));
  return kSuccess;
}

}  // namespace

void add_info(CLI::App& app, Common& common, int& result) {
  auto path = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("info", "Show what is in a file");
  verb->add_option("FILE", *path, "A capture, a folder of captures, a trace or an export")->required()->type_name("");
  add_common(*verb, common);
  verb->callback([&common, &result, path] { result = run_info(common, *path); });
}

}  // namespace rangefinder::cli
