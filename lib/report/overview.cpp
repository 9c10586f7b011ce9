// SPDX-License-Identifier: MIT
#include "report/overview.hpp"

#include "base/descending.hpp"
#include "base/text.hpp"
#include "report/short_names.hpp"
#include "report/units.hpp"
#include "report/views/common_columns.hpp"
#include "report/wrapped.hpp"

#include <algorithm>
#include <ctime>
#include <numeric>
#include <utility>

namespace rangefinder::report {
namespace {

using analysis::RangeGroup;

constexpr std::size_t kLargest = 3;

void add_largest(Overview& overview, const OverviewSource& source) {
  const std::vector<RangeGroup>& groups = source.by_name.rows;
  const bool device = overview.device_worked;
  const auto self = [&](const RangeGroup& group) { return device ? group.exclusive.gpu_busy_ns : group.host_self_ns; };
  std::int64_t all_ns = 0;
  for (const RangeGroup& group : groups) all_ns += group.host_self_ns;
  if (device) all_ns = source.figures.facts.account.total.gpu_sum_ns;
  std::vector<std::uint32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto shown = order.begin() + static_cast<std::ptrdiff_t>(std::min(kLargest, order.size()));
  std::partial_sort(order.begin(), shown, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(base::Descending{self(groups[a])}, a) < std::pair(base::Descending{self(groups[b])}, b);
  });
  for (auto at = order.begin(); at != shown && self(groups[*at]) > 0; ++at) {
    const RangeGroup& group = groups[*at];
    overview.largest.push_back({std::string(source.timeline.text(group.name)), self(group),
                                common::share(device ? group.exclusive.gpu_sum_ns : group.host_self_ns, all_ns)});
  }
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return plain_number(common::share(part, whole), 1) + " %";
}

/// The mean over the devices, in nanoseconds.
std::int64_t busy_of_a_device(const Overview& overview) {
  std::int64_t sum = 0;
  for (const analysis::RecordingFigures::Device& device : overview.devices) sum += device.busy_ns;
  return overview.devices.empty() ? 0 : sum / static_cast<std::int64_t>(overview.devices.size());
}

void add_next(Overview& overview, const OverviewSource& source) {
  const Account& account = source.figures.facts.account;
  const std::int64_t total = account.total.gpu_sum_ns;
  const bool operators = source.figures.facts.has_operators && !source.options.operators;
  const auto next = [&](const char* options, std::string reason) {
    overview.next_options = options;
    overview.next_reason = std::move(reason);
  };
  const auto exceeds_half = [&](std::int64_t part) { return part > total / 2; };
  const bool idle = busy_of_a_device(overview) < overview.recorded_ns * 3 / 5;
  if (overview.device_worked && exceeds_half(account.outside.gpu_sum_ns)) {
    const std::string outside = percent(account.outside.gpu_sum_ns, total) + " of device time is outside any range: ";
    if (operators)
      next("--ranges both", outside + "operators as ranges; also --view ops");
    else
      next("--view unattributed", outside + "what it is");
  } else if (overview.device_worked && exceeds_half(account.before.gpu_sum_ns + account.unknown.gpu_sum_ns)) {
    next("--view unattributed", "why most device time belongs to no range");
  } else if (!overview.device_worked) {
    if (overview.largest.empty() && operators)
      next("--ranges operators", "operators as ranges");
    else if (overview.threads_in_ranges > 1)
      next("--view threads", "what each thread ran, and what it waited for");
    else
      next("--view tree", "which range is inside which");
  } else if (idle && overview.blocked_ns > overview.recorded_ns / 10) {
    next("--view sync", "where the host waits, and for which work");
  } else if (idle) {
    next(operators ? "--view ops" : "--view tree", "what the host does while the device is idle");
  } else {
    next("--view kernels", "what the device ran, and for which range");
  }
}

// ---- text

std::string wall_time(std::int64_t realtime_ns) {
  const std::time_t seconds = realtime_ns / 1'000'000'000;
  std::tm utc{};
  if (::gmtime_r(&seconds, &utc) == nullptr) return {};
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc));
}

std::string counted(std::size_t count, std::string_view what) {
  return base::with_thousands(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out.append(out.empty() ? "" : separator).append(part);
  return out;
}

std::string process_text(const ProcessInfo& process) {
  std::string out = process.name.empty() ? "process " + std::to_string(process.pid) : base::printable(process.name);
  if (!process.host.empty()) out += " on " + base::printable(process.host);
  if (process.rank >= 0) out += ", rank " + std::to_string(process.rank);
  if (process.rank >= 0 && process.world_size > 0) out += " of " + std::to_string(process.world_size);
  return out;
}

/// Those that have threads: traces of torch.profiler have a further one for each device.
std::vector<ProcessIndex> host_processes(const Timeline& timeline) {
  std::vector<bool> has_threads(timeline.processes.size());
  for (const ThreadInfo& thread : timeline.threads)
    if (thread.process < has_threads.size()) has_threads[thread.process] = true;
  std::vector<ProcessIndex> processes;
  for (ProcessIndex process{0}; process < has_threads.size(); ++process)
    if (has_threads[process]) processes.push_back(process);
  return processes;
}

std::string capture_text(const Overview& overview, const Timeline& timeline) {
  const std::vector<ProcessIndex> processes = host_processes(timeline);
  const std::int64_t start = analysis::recorded_span(timeline).begin;
  return joined({processes.size() == 1 ? process_text(timeline.processes[processes.front()])
                                       : base::with_thousands(processes.size()) + " processes",
                 timeline.hosts.size() > 1 ? counted(timeline.hosts.size(), "host") : "",
                 timeline.realtime_offset_ns == kNoTime ? "" : wall_time(timeline.realtime_offset_ns + start),
                 readable_time(overview.recorded_ns) + " recorded", counted(timeline.threads.size(), "thread"),
                 overview.steps == 0 ? "" : counted(overview.steps, "step")},
                ", ");
}

std::string devices_text(const Overview& overview, const Timeline& timeline) {
  std::vector<std::string> names;
  std::int64_t least = overview.recorded_ns, most = 0;
  for (const analysis::RecordingFigures::Device& busy : overview.devices) {
    const std::string name = base::printable(timeline.devices[busy.device].name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    least = std::min(least, busy.busy_ns);
    most = std::max(most, busy.busy_ns);
  }
  const std::int64_t mean = busy_of_a_device(overview), recorded = overview.recorded_ns;
  std::string out = "busy " + percent(mean, recorded) + " of the time, idle " + percent(recorded - mean, recorded);
  if (overview.devices.size() > 1)
    out += "; " + std::to_string(overview.devices.size()) + " devices, busy " + percent(least, recorded) + " to " +
           percent(most, recorded);
  const std::string models = joined(names, ", ");
  return models.empty() ? out : out + " (" + models + ")";
}

std::string host_text(const Overview& overview, const Timeline& timeline) {
  if (overview.thread == kNone) return "no ranges";
  const ThreadInfo& thread = timeline.threads[overview.thread];
  std::string name = thread.name.empty() ? std::to_string(thread.tid) : base::printable(thread.name);
  if (!name.starts_with("thread ")) name.insert(0, "thread ");
  std::string out = "ranges cover " + percent(overview.in_ranges_ns, overview.recorded_ns) + " of the time of " + name;
  if (overview.device_worked)
    out += ", which waits for devices " + percent(overview.blocked_ns, overview.recorded_ns) + " of the time";
  return out;
}

/// Of the host alone, where it has several threads that worked.
bool tells_of_threads(const Overview& overview) noexcept {
  return !overview.device_worked && overview.threads_in_ranges > 1;
}

/// How many of its threads were in ranges at a time.
std::string threads_text(const Overview& overview) {
  const double mean = static_cast<double>(overview.all_in_ranges_ns) /
                      static_cast<double>(std::max<std::int64_t>(overview.recorded_ns, 1));
  return plain_number(common::rounded(mean * 100), 2) + " of " + std::to_string(overview.threads_in_ranges) +
         " are in ranges at a time, on average";
}

std::string largest_text(const Overview& overview, bool utf8) {
  constexpr std::size_t kLongestName = 60;
  std::vector<std::string> owners;
  for (const Overview::Owner& owner : overview.largest)
    owners.push_back(shortened(base::printable(owner.name), kLongestName, utf8) + " " + readable_time(owner.self_ns) +
                     " (" + plain_number(owner.share, 1) + " %)");
  return joined(owners, ", ") + (overview.device_worked ? " of GPU self time" : " of host self time");
}

/// As a shell reads it.
std::string file_argument(const Timeline& timeline) {
  if (timeline.sources.size() != 1) return "FILE";
  std::string file = base::printable(timeline.sources.front());
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%";
  if (!file.empty() && file.find_first_not_of(kPlain) == std::string::npos) return file;
  return file.find('\'') == std::string::npos ? "'" + file + "'" : "FILE";
}

std::string next_command(const Overview& overview, const Timeline& timeline) {
  return "rangefinder report " + file_argument(timeline) + " " + overview.next_options;
}

}  // namespace

Overview make_overview(const OverviewSource& source, const Footer& footer) {
  Overview overview;
  const analysis::RecordingFigures& figures = source.figures;
  overview.recorded_ns = figures.recorded_ns;
  overview.steps = figures.facts.steps;
  overview.device_worked = figures.facts.activities != 0;
  overview.devices = figures.devices;
  overview.thread = figures.thread;
  overview.in_ranges_ns = figures.in_ranges_ns;
  overview.threads_in_ranges = figures.threads_in_ranges;
  overview.all_in_ranges_ns = figures.all_in_ranges_ns;
  overview.blocked_ns = std::min(source.blocked.of(figures.thread), overview.recorded_ns);
  add_largest(overview, source);
  for (const CaptureHealth::Entry& entry : footer.health)
    if (entry.severity == CaptureHealth::Severity::kLoss) overview.lost += entry.count;
  add_next(overview, source);
  return overview;
}

Overview make_overview(const ProjectedTimeline& projected, const Footer& footer) {
  const Timeline& timeline = projected.timeline();
  const ProjectionOptions& options = projected.projection_options();
  analysis::RecordingTotals totals(options);
  totals.add(projection::WindowRows::whole(timeline, projected.projection()));
  analysis::BlockedTimes blocked;
  blocked.add(timeline, analysis::recorded_span(timeline));
  return make_overview({timeline, options, totals.figures(timeline), blocked, projected.groups_by_name()}, footer);
}

std::string to_text(const Overview& overview, const Timeline& timeline, const TextOptions& options) {
  constexpr std::size_t kLabel = 9, kNarrowestLine = 30;
  std::string out;
  const auto line = [&](std::string label, const std::string& text) {
    label.resize(kLabel, ' ');
    out += wrapped(label + text, options.width == 0 ? 0 : std::max(options.width, kNarrowestLine), kLabel) + "\n";
  };
  line("capture", capture_text(overview, timeline));
  if (overview.device_worked) line("GPU", devices_text(overview, timeline));
  line("host", host_text(overview, timeline));
  if (tells_of_threads(overview)) line("threads", threads_text(overview));
  if (!overview.largest.empty()) line("largest", largest_text(overview, options.utf8));
  line("lost", overview.lost == 0 ? "nothing" : base::with_thousands(overview.lost) + ": see the lines at the end");
  line("next", next_command(overview, timeline) + " (" + overview.next_reason + ")");
  return out;
}

void append_json_member(std::string& out, const Overview& overview, const Timeline& timeline) {
  const auto text = [&](const char* key, std::string_view value) {
    out += key;
    base::append_json_string(out, value);
  };
  const auto number = [&](const char* key, std::int64_t value) { out += key + std::to_string(value); };
  out += "\"overview\": {\"processes\": [";
  const std::vector<ProcessIndex> processes = host_processes(timeline);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessInfo& process = timeline.processes[processes[i]];
    text(i == 0 ? "{\"name\": " : ", {\"name\": ", process.name);
    number(", \"pid\": ", process.pid);
    text(", \"host\": ", process.host);
    number(", \"rank\": ", process.rank);
    out += '}';
  }
  out += "], \"start_realtime_ns\": ";
  out += timeline.realtime_offset_ns == kNoTime
             ? "null"
             : std::to_string(timeline.realtime_offset_ns + analysis::recorded_span(timeline).begin);
  number(", \"recorded_ns\": ", overview.recorded_ns);
  number(", \"threads\": ", static_cast<std::int64_t>(timeline.threads.size()));
  number(", \"steps\": ", static_cast<std::int64_t>(overview.steps));
  out += ", \"devices\": [";
  for (std::size_t i = 0; i < overview.devices.size(); ++i) {
    const DeviceInfo& device = timeline.devices[overview.devices[i].device];
    number(i == 0 ? "{\"id\": " : ", {\"id\": ", device.id);
    text(", \"name\": ", device.name);
    number(", \"busy_ns\": ", overview.devices[i].busy_ns);
    out += '}';
  }
  out += "], \"host\": ";
  if (overview.thread == kNone) {
    out += "null";
  } else {
    number("{\"thread\": ", timeline.threads[overview.thread].tid);
    number(", \"in_ranges_ns\": ", overview.in_ranges_ns);
    if (tells_of_threads(overview)) {
      number(", \"threads_in_ranges\": ", overview.threads_in_ranges);
      number(", \"all_in_ranges_ns\": ", overview.all_in_ranges_ns);
    }
    number(", \"blocked_ns\": ", overview.blocked_ns);
    out += '}';
  }
  out += ", \"largest\": [";
  for (std::size_t i = 0; i < overview.largest.size(); ++i) {
    const Overview::Owner& owner = overview.largest[i];
    text(i == 0 ? "{\"range\": " : ", {\"range\": ", owner.name);
    number(overview.device_worked ? ", \"gpu_self_ns\": " : ", \"host_self_ns\": ", owner.self_ns);
    out += ", \"share_percent\": " + plain_number(owner.share, 1) + "}";
  }
  number("], \"lost\": ", static_cast<std::int64_t>(overview.lost));
  text(", \"next\": ", next_command(overview, timeline));
  out += '}';
}

}  // namespace rangefinder::report
