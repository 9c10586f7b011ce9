// SPDX-License-Identifier: MIT
#include "importer/capture/file_loader.hpp"

#include "base/file.hpp"
#include "base/left_out_domains.hpp"
#include "base/text.hpp"
#include "importer/capture/capture_rows.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::importer {
namespace {

int number_of(std::string_view text, int otherwise) noexcept {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

void FileLoader::add_process() {
  process_ = static_cast<ProcessIndex>(out_.processes.size());
  ProcessInfo process;
  process.pid = reader_.header().pid;
  process.name = reader_.metadata("program");
  process.host = reader_.metadata("host");
  process.rank = number_of(reader_.metadata("rank"), -1);
  process.world_size = number_of(reader_.metadata("world_size"), -1);
  process.start_ns = host_time(format::first_ticks(reader_.header()));
  if (const std::uint64_t seen = seen_ticks(); seen != 0) process.seen_ns = host_time(seen);
  process.flight_recorder = (reader_.header().flags & format::kFlagRing) != 0;
  out_.processes.push_back(std::move(process));
  for (const format::ThreadRow& row : reader_.threads()) add_thread(row);
}

/// When the clock was sampled last: the recorder still ran. 0: not known.
std::uint64_t FileLoader::seen_ticks() const noexcept {
  std::uint64_t last = 0;
  for (const capture::ChunkEntry& entry : reader_.chunks())
    if (static_cast<format::ChunkKind>(entry.header.kind) == format::ChunkKind::kClock)
      last = std::max(last, entry.header.first);
  return last;
}

void FileLoader::add_recorded_windows() {
  for (const format::WindowRow& row : reader_.windows()) {
    const std::uint64_t end = row.end_ticks != 0 ? row.end_ticks : std::max(last_ticks_, row.begin_ticks);
    out_.windows.push_back({host_time(row.begin_ticks), host_time(end)});
  }
}

void FileLoader::add_health() {
  out_.health += reader_.health();
  out_.health += assembler_.health();
  out_.clock_error_ns = std::max(out_.clock_error_ns, reader_.clock().error_bound_ns());
  const std::string file =
      out_.sources.size() > 1 ? std::string(base::file_name(reader_.path())) + ": " : std::string();
  if (const std::string end = reader_.end_note(); !end.empty()) out_.notes.push_back(file + end);
  const std::string_view device = reader_.metadata("device_state");
  if (!device.empty() && device != "full")
    out_.notes.push_back(file + "device activity was not recorded: " + std::string(device));
  if (const std::string_view sensors = reader_.metadata("nvml_state"); !sensors.empty() && sensors != "full")
    out_.notes.push_back(file + "sensors of devices were not sampled: " + std::string(sensors));
  if (const std::string_view events = reader_.metadata("cpu_counters"); !events.empty() && events != "full")
    out_.notes.push_back(file + "CPU counters: " + std::string(events));
  const std::string_view counting = reader_.metadata("counter_state");
  if (!counting.empty() && counting != "counting")
    out_.notes.push_back(file + "hardware counters of ranges were not counted: " + std::string(counting));
  const std::string_view sampling = reader_.metadata("sample_state");
  if (!sampling.empty() && sampling != "sampling")
    out_.notes.push_back(file + "hardware counters were not sampled: " + std::string(sampling));
  base::LeftOutDomains left_out;
  left_out.add(reader_.metadata());
  if (!left_out.empty()) out_.notes.push_back(file + "NVTX domains left out on request: " + left_out.text());
  if (reader_.clock().realtime_steps() != 0)
    out_.notes.push_back(file +
                         "the system's clock was set during the recording; device times near that moment may be off");
  if (const std::string_view notes = reader_.metadata("cupti_notes"); !notes.empty())
    out_.notes.push_back(file + std::string(notes));
  for (const capture::Finding& finding : reader_.findings()) out_.notes.push_back(file + finding.text);
  out_.simulated = out_.simulated || reader_.simulated();
}

Status FileLoader::goes_on() {
  Status status = bound_.check(out_, {.row_bytes = range_metrics_.size() * sizeof range_metrics_[0]});
  return status ? status : std::move(status).error().with_context(reader_.path());
}

Status FileLoader::load() {
  add_process();
  add_devices();
  first_launch_ = static_cast<std::uint32_t>(out_.launches.size());
  if (Status read = reader_.visit(*this, options_.progress, options_.progress_user); !read) return read;
  finish();
  end_ranges();
  add_launch_ranges();
  add_nodes();
  add_operators(options_.operator_inputs || options_.keep_arguments);
  add_collectives();
  add_cpu_counters();
  add_range_metrics();
  add_steps();
  return {};
}

/// Behind all events.
void FileLoader::finish() {
  std::uint64_t end_ticks = last_ticks_;
  for (const format::WindowRow& row : reader_.windows())
    end_ticks = std::max({end_ticks, row.begin_ticks, row.end_ticks});
  assembler_.finish(end_ticks);
  add_boards();
  add_recorded_windows();
  add_health();
  for (const auto& [key, value] : reader_.metadata()) {
    std::string quoted;
    base::append_json_string(quoted, value);
    out_.metadata.emplace_back(key, std::move(quoted));
  }
}

void FileLoader::add_devices() {
  for (const format::DeviceRow& row : reader_.devices()) {
    describe_device(row, reader_.name(row.name), out_.devices[device_of(row.id)]);
  }
  for (const format::ContextRow& row : reader_.contexts()) context_device_[row.id] = row.device;
}

/// Which boards sensors are of, as facts tell.
void FileLoader::add_boards() {
  for (const auto& [id, index] : devices_) {
    out_.devices[index].board = reader_.metadata("nvml_board:" + std::to_string(id));
    out_.devices[index].mig = reader_.metadata("nvml_mig:" + std::to_string(id)) == "on";
  }
}

void FileLoader::begin_windows(Windowed windowed) {
  const auto has_whole_launches = [](const capture::ChunkEntry& entry) {
    return static_cast<format::ChunkKind>(entry.header.kind) == format::ChunkKind::kGraphLaunches;
  };
  windowed.calls = true;
  windowed.whole_launches = std::any_of(reader_.chunks().begin(), reader_.chunks().end(), has_whole_launches);
  CaptureLoader::begin_windows(windowed);
  add_process();
  add_devices();
  for (const format::WindowRow& row : reader_.windows())
    out_.windows.push_back({host_time(row.begin_ticks), row.end_ticks != 0 ? host_time(row.end_ticks) : kLatest});
  out_.clock_error_ns = reader_.clock().error_bound_ns();
  out_.simulated = reader_.simulated();
  earlier_calls_.begin(process_, out_.windows);
  for (const capture::ChunkEntry& entry : reader_.chunks())
    if (static_cast<format::ChunkKind>(entry.header.kind) == format::ChunkKind::kGraphNodes)
      reader_.visit_one(entry, *this);
}

void FileLoader::close_last_window() {
  out_.windows.clear();
  finish();
  close_window();
}

}  // namespace rangefinder::importer
