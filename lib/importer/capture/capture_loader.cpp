// SPDX-License-Identifier: MIT
#include "importer/capture/capture_loader.hpp"

#include "base/file.hpp"
#include "base/left_out_domains.hpp"
#include "base/text.hpp"
#include "timeline/engine_threads.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::importer {
namespace {

// Ids of names below this are found by index. The recorder gives out no others; a file may.
constexpr std::uint32_t kIndexedNames = 1u << 20;

int number_of(std::string_view text, int otherwise) noexcept {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

StringId CaptureLoader::find_name(std::uint32_t id) {
  if (const std::string* const text = reader_.names().find(id)) return out_.intern(*text);
  if (id != 0) ++out_.health.lost_names;
  return out_.intern(reader_.name_or_placeholder(id));
}

StringId CaptureLoader::name(std::uint32_t id) {
  if (id >= kIndexedNames) {
    const auto [found, added] = far_names_.try_emplace(id, StringId::kEmpty);
    if (added) found->second = find_name(id);
    return found->second;
  }
  if (id >= names_.size()) {
    names_.resize(id + 1, StringId::kEmpty);
    names_known_.resize(id + 1, false);
  }
  if (!names_known_[id]) {
    names_known_[id] = true;
    names_[id] = find_name(id);
  }
  return names_[id];
}

ThreadIndex CaptureLoader::thread_of_tid(std::uint32_t tid) {
  const auto [found, added] = threads_by_tid_.try_emplace(tid, static_cast<ThreadIndex>(out_.threads.size()));
  if (added) out_.threads.push_back({process_, tid, {}});
  return found->second;
}

ThreadIndex CaptureLoader::thread_of(std::uint32_t index) {
  if (index < threads_.size() && threads_[index] != kNone) return threads_[index];
  // No thread row: damage. Its number is all that is known.
  if (index >= threads_.size()) threads_.resize(index + 1, kNone);
  threads_[index] = static_cast<ThreadIndex>(out_.threads.size());
  out_.threads.push_back({process_, 0, "thread #" + std::to_string(index)});
  return threads_[index];
}

void CaptureLoader::add_process() {
  process_ = static_cast<ProcessIndex>(out_.processes.size());
  ProcessInfo process;
  process.pid = reader_.header().pid;
  process.name = reader_.metadata("program");
  process.host = reader_.metadata("host");
  process.rank = number_of(reader_.metadata("rank"), -1);
  process.world_size = number_of(reader_.metadata("world_size"), -1);
  process.start_ns = host_time(format::first_ticks(reader_.header()));
  process.flight_recorder = (reader_.header().flags & format::kFlagRing) != 0;
  out_.processes.push_back(std::move(process));
  for (const format::ThreadRow& row : reader_.threads()) {
    if (row.index >= (1u << 20)) continue;
    if (row.index >= threads_.size()) threads_.resize(row.index + 1, kNone);
    const auto index = static_cast<ThreadIndex>(out_.threads.size());
    threads_[row.index] = index;
    // The system gives a number again when its thread has ended: the last thread of that number is the one that counts.
    threads_by_tid_[row.tid] = index;
    std::string name(reader_.name(row.name));
    const bool is_engine = timeline::is_engine_thread(name);
    out_.threads.push_back({process_, row.tid, std::move(name), {}, is_engine});
  }
}

void CaptureLoader::add_windows() {
  for (const format::WindowRow& row : reader_.windows()) {
    const std::uint64_t end = row.end_ticks != 0 ? row.end_ticks : std::max(last_ticks_, row.begin_ticks);
    out_.windows.push_back({host_time(row.begin_ticks), host_time(end)});
  }
}

void CaptureLoader::add_health() {
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

Status CaptureLoader::goes_on() {
  Status status = bound_.check(out_, range_metrics_.size() * sizeof range_metrics_[0]);
  return status ? status : std::move(status).error().with_context(reader_.path());
}

Status CaptureLoader::load() {
  add_process();
  add_devices();
  first_launch_ = static_cast<std::uint32_t>(out_.launches.size());
  if (Status read = reader_.visit(*this, options_.progress, options_.progress_user); !read) return read;
  finish();
  add_launch_ranges();
  add_nodes();
  add_operators(options_.operator_inputs || options_.keep_arguments);
  add_cpu_counters();
  add_range_metrics();
  add_steps();
  return {};
}

/// Behind all events.
void CaptureLoader::finish() {
  std::uint64_t end_ticks = last_ticks_;
  for (const format::WindowRow& row : reader_.windows())
    end_ticks = std::max({end_ticks, row.begin_ticks, row.end_ticks});
  assembler_.finish(end_ticks);
  add_boards();
  add_windows();
  add_health();
  for (const auto& [key, value] : reader_.metadata()) {
    std::string quoted;
    base::append_json_string(quoted, value);
    out_.metadata.emplace_back(key, std::move(quoted));
  }
}

}  // namespace rangefinder::importer
