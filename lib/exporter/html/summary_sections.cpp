// SPDX-License-Identifier: MIT
// What the page says in words: the verdict, facts, what was lost.
#include "analysis/breakdown.hpp"
#include "base/text.hpp"
#include "exporter/html/device_time.hpp"
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"
#include "report/footer.hpp"
#include "report/units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace rangefinder::html {
namespace {

using report::readable_time;

constexpr double kGood = 0.85;     // of a device's time
constexpr double kWarning = 0.60;  // below it something is badly wrong

std::uint64_t lost_records(const Timeline& timeline) {
  std::uint64_t lost = 0;
  for (const CaptureHealth::Entry& entry : timeline.health.entries())
    if (entry.severity == CaptureHealth::Severity::kLoss) lost += entry.count;
  return lost;
}

/// The greatest of what the devices' time was lost to, in words.
std::string largest_loss(const DeviceTime& time) {
  const std::array<std::pair<std::int64_t, const char*>, 6> losses{{
      {time.idle.host_wait_ns, "idle, waiting for the host"},
      {time.idle.sync_wait_ns, "idle, waiting for an event of another stream"},
      {time.idle.kernel_wait_ns, "idle in the short gaps between operations"},
      {time.idle.other_ns, "idle for no known reason"},
      {time.exposed_communication_ns, "only communicating"},
      {time.exposed_memcpy_ns, "only copying"},
  }};
  const auto most =
      std::max_element(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr double kWorthSaying = 0.01;
  if (time.share(most->first) < kWorthSaying) return {};
  return "; for " + percent(time.share(most->first)) + (time.devices == 1 ? " it was " : " they were ") + most->second;
}

struct Verdict {
  std::string text;
  const char* level = "note";
};

Verdict of_devices(const DeviceTime& time) {
  const double computing = time.share(time.computation_ns);
  const std::string whole = percent(computing) + " of " + readable_time(time.total_ns);
  Verdict verdict{time.devices == 1
                      ? "The device computed for " + whole
                      : "The " + std::to_string(time.devices) + " devices computed for " + whole + " of device time"};
  verdict.text += largest_loss(time) + ".";
  verdict.level = computing >= kGood ? "good" : computing >= kWarning ? "warning" : "bad";
  return verdict;
}

Verdict of_host(const PageInput& input, const HostTime& host) {
  std::string text = "No device activity was recorded";
  if (host.total_ns <= 0) return {text + ", and no time in ranges."};
  constexpr std::size_t kMostOfName = 80;
  text += ". Of " + readable_time(host.total_ns) + " in ranges, the host spent the most in " +
          utf8_of(input.timeline.text(host.longest), kMostOfName) + ": " +
          percent(static_cast<double>(host.longest_ns) / static_cast<double>(host.total_ns)) + ".";
  return {text};
}

/// Pairs of label and text.
class Facts {
 public:
  void add(std::string_view label, std::string_view text) {
    if (text.empty()) return;
    json_ += (json_.empty() ? "[" : ",[") + json_of(label) + "," + json_of(text) + "]";
  }
  std::string json() const { return "[" + json_ + "]"; }

 private:
  std::string json_;
};

std::string names_of_devices(const Timeline& timeline) {
  std::vector<std::string_view> names;
  for (const DeviceInfo& device : timeline.devices)
    if (!device.name.empty() && std::find(names.begin(), names.end(), device.name) == names.end())
      names.push_back(device.name);
  std::string out;
  for (const std::string_view name : names) out.append(out.empty() ? "" : ", ").append(name);
  if (timeline.devices.size() <= 1) return out;
  return std::to_string(timeline.devices.size()) + (out.empty() ? "" : ": " + out);
}

/// Traces of torch.profiler have a further process for each device.
std::vector<ProcessIndex> processes_with_threads(const Timeline& timeline) {
  std::vector<ProcessIndex> found;
  for (ProcessIndex process{0}; process < timeline.processes.size(); ++process)
    if (std::any_of(timeline.threads.begin(), timeline.threads.end(),
                    [&](const ThreadInfo& thread) { return thread.process == process; }))
      found.push_back(process);
  return found;
}

std::string_view format_word(InputFormat format) noexcept {
  switch (format) {
    case InputFormat::kCapture:
      return "capture of rangefinder";
    case InputFormat::kKineto:
      return "trace of torch.profiler";
    case InputFormat::kNsight:
      return "export of Nsight Systems";
  }
  return {};
}

std::string_view attribution_words(Attribution attribution) noexcept {
  switch (attribution) {
    case Attribution::kAuto:
      return "auto";
    case Attribution::kLaunch:
      return "launch: device time belongs to the range that launched the work";
    case Attribution::kForward:
      return "forward: backward work belongs to the range of its forward operator";
    case Attribution::kCapture:
      return "capture: work of CUDA graphs belongs to the range that captured it";
  }
  return {};
}

}  // namespace

DeviceTime device_time(const PageInput& input) {
  DeviceTime time;
  for (const BreakdownRow& row : analysis::breakdown(input.timeline, input.projection(), {})) {
    if (row.device == kNone) continue;
    ++time.devices;
    // Files can claim any time: sums stay numbers.
    const auto add = [](std::int64_t& to, std::int64_t ns) { to = std::min(to + since(0, ns), kMostSigned); };
    add(time.total_ns, row.total_ns);
    add(time.busy_ns, row.busy_ns);
    add(time.computation_ns, row.computation_ns);
    add(time.exposed_communication_ns, row.exposed_communication_ns);
    add(time.exposed_memcpy_ns, row.exposed_memcpy_ns);
    add(time.idle_ns, row.idle_ns);
    add(time.idle.host_wait_ns, row.idle.host_wait_ns);
    add(time.idle.kernel_wait_ns, row.idle.kernel_wait_ns);
    add(time.idle.sync_wait_ns, row.idle.sync_wait_ns);
    add(time.idle.other_ns, row.idle.other_ns);
  }
  return time;
}

std::string percent(double share) {
  std::int64_t tenths = std::llround(std::clamp(share, 0.0, 1e6) * 1000);
  const bool is_nearly_all = share < 1 && tenths >= 995;
  if (tenths >= 100 && !is_nearly_all) return std::to_string((tenths + 5) / 10) + " %";
  if (is_nearly_all) tenths = std::min<std::int64_t>(tenths, 999);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

std::string verdict_section(const PageInput& input, const DeviceTime& time, const HostTime& host) {
  Verdict verdict = time.devices != 0 ? of_devices(time) : of_host(input, host);
  if (const std::uint64_t lost = lost_records(input.timeline); lost != 0) {
    verdict.text += " The recording is incomplete: " + base::with_thousands(lost) + " losses are listed below.";
    if (std::string_view(verdict.level) != "bad") verdict.level = "warning";
  }
  if (input.timeline.simulated) verdict.text.insert(0, "Simulated: the device records come from a script. ");
  return "{\"text\":" + json_of(verdict.text) + ",\"level\":\"" + verdict.level + "\"}";
}

std::string facts_section(const PageInput& input) {
  const Timeline& timeline = input.timeline;
  Facts facts;
  facts.add("Input", format_word(timeline.format));
  const std::vector<ProcessIndex> processes = processes_with_threads(timeline);
  if (processes.size() == 1)
    facts.add("Process", process_label(timeline, processes.front()));
  else
    facts.add("Processes", base::with_thousands(processes.size()));
  facts.add(timeline.devices.size() == 1 ? "Device" : "Devices", names_of_devices(timeline));
  facts.add("Threads", base::with_thousands(timeline.threads.size()));
  if (!timeline.steps.empty()) facts.add("Steps", base::with_thousands(timeline.steps.size()));
  facts.add("Ranges", input.projected.projection_options().operators
                          ? "LibTorch's operators: the recording has no ranges of its own"
                          : std::string_view());
  if (timeline.activities.size() != 0) facts.add("Attribution", attribution_words(input.projection().attribution));
  return facts.json();
}

std::string lost_section(const PageInput& input, const PageOutput& output) {
  const Timeline& timeline = input.timeline;
  const report::Footer footer = report::make_footer(timeline, std::nullopt);
  std::string counts, notes, why;
  for (const CaptureHealth::Entry& entry : footer.health)
    counts += (counts.empty() ? "{\"label\":" : ",{\"label\":") + json_of(entry.text) +
              ",\"count\":" + std::to_string(std::min(entry.count, kMostUnsigned)) + ",\"severity\":\"" +
              (entry.severity == CaptureHealth::Severity::kLoss ? "loss" : "note") + "\"}";
  for (const std::string& note : footer.notes) notes += (notes.empty() ? "" : ",") + json_of(note);
  for (const std::string& reason : output.left_why) why.append(why.empty() ? "" : "; ").append(reason);
  return "{\"complete\":" + std::string(lost_records(timeline) == 0 ? "true" : "false") + ",\"counts\":[" + counts +
         "],\"notes\":[" + notes + "],\"clock_error_ns\":" + std::to_string(since(0, timeline.clock_error_ns)) +
         ",\"exported\":{\"slices_left_out\":" + std::to_string(output.left_out) + ",\"why\":" + json_of(why) + "}}";
}

}  // namespace rangefinder::html
