// SPDX-License-Identifier: MIT
#include "exporter/chrome/document.hpp"

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "exporter/chrome/clean_json.hpp"

#include <rangefinder/version.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace rangefinder::chrome {
namespace {

constexpr base::JsonStyle kInALine{", ", ": ", append_quoted};
constexpr base::JsonStyle kALineEach{",\n", ": ", append_quoted};

struct DeviceColumn {
  std::string_view key;
  std::uint64_t (*value)(const DeviceInfo&);
};

// In torch.profiler's order. What is not known (0) is left out: a reader would take it for a fact.
constexpr DeviceColumn kDeviceColumns[] = {
    {"totalGlobalMem", [](const DeviceInfo& d) -> std::uint64_t { return d.memory_bytes; }},
    {"maxThreadsPerBlock", [](const DeviceInfo& d) -> std::uint64_t { return d.max_threads_per_block; }},
    {"maxThreadsPerMultiprocessor",
     [](const DeviceInfo& d) -> std::uint64_t { return d.max_threads_per_multiprocessor; }},
    {"maxBlocksPerMultiprocessor",
     [](const DeviceInfo& d) -> std::uint64_t { return d.max_blocks_per_multiprocessor; }},
    {"regsPerBlock", [](const DeviceInfo& d) -> std::uint64_t { return d.registers_per_block; }},
    {"warpSize", [](const DeviceInfo& d) -> std::uint64_t { return d.warp_size; }},
    {"sharedMemPerBlock", [](const DeviceInfo& d) -> std::uint64_t { return d.shared_bytes_per_block; }},
    {"numSms", [](const DeviceInfo& d) -> std::uint64_t { return d.multiprocessors; }},
    {"regsPerMultiprocessor", [](const DeviceInfo& d) -> std::uint64_t { return d.registers_per_multiprocessor; }},
    {"sharedMemPerBlockOptin", [](const DeviceInfo& d) -> std::uint64_t { return d.shared_bytes_per_block_optin; }},
    {"sharedMemPerMultiprocessor",
     [](const DeviceInfo& d) -> std::uint64_t { return d.shared_bytes_per_multiprocessor; }},
};

void append_device(std::string& out, const DeviceInfo& device) {
  out += '{';
  base::JsonWriter members(out, kInALine);
  members.number("id", device.id);
  members.text("name", device.name);
  if (device.compute_major != 0) {
    members.number("computeMajor", device.compute_major);
    members.number("computeMinor", device.compute_minor);
  }
  for (const DeviceColumn& column : kDeviceColumns) {
    if (const std::uint64_t value = column.value(device); value != 0) members.number(column.key, value);
  }
  out += '}';
}

/// distributedInfo as it was, but with a space behind every colon: HolisticTraceAnalysis finds the rank by a pattern
/// that asks for one.
void append_spaced(std::string& out, std::string_view object) {
  std::vector<RawMember> members;
  if (!split_object(object, members)) {
    out += object;
    return;
  }
  out += '{';
  base::JsonWriter spaced(out, kInALine);
  for (const RawMember& member : members) append_clean_value(spaced.key(member.key), member.value);
  out += '}';
}

constexpr std::string_view kOurs = "rangefinder";
constexpr std::string_view kOursBefore = "rangefinder_input";

bool is_written_anew(std::string_view key) noexcept {
  static constexpr std::string_view kKeys[] = {"schemaVersion",       "deviceProperties", "displayTimeUnit",
                                               "baseTimeNanoseconds", "traceEvents",      "traceName"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

/// The members of the input's document, each key once. True when distributedInfo is among them.
bool append_members(base::JsonWriter& document, const DocumentFacts& facts, ExportNotes& export_notes) {
  const bool again =
      std::any_of(facts.members.begin(), facts.members.end(), [](const auto& m) { return m.first == kOurs; });
  std::set<std::string_view> seen;
  bool distributed = false;
  for (const auto& [key, value] : facts.members) {
    if (is_written_anew(key) || (again && key == kOursBefore) || !seen.insert(key).second) continue;
    std::string clean;
    if (!append_clean_value(clean, value)) {
      export_notes.add(ExportNotes::kForeignText);
      continue;
    }
    // What an earlier rangefinder export said of its input stays, under another name.
    std::string& out = document.key(key == kOurs ? kOursBefore : std::string_view(key));
    if (key != "distributedInfo") {
      out += clean;
      continue;
    }
    append_spaced(out, clean);
    distributed = true;
  }
  return distributed;
}

void append_health(std::string& out, const CaptureHealth& health) {
  out += '{';
  base::JsonWriter members(out, kInALine);
  members.boolean("complete", health.complete());
  for (const CaptureHealth::Entry& entry : health.entries()) {
    if (entry.count != 0) members.number(entry.name, entry.count);
  }
  out += '}';
}

void append_account(std::string& out, const Account& account) {
  out += '{';
  base::JsonWriter members(out, kInALine);
  const auto part = [&](std::string_view name, const Account::Part& value) {
    members.key(name) += "{\"gpu_ops\": " + std::to_string(value.gpu_ops) +
                         ", \"gpu_sum_ns\": " + std::to_string(value.gpu_sum_ns) + "}";
  };
  part("total", account.total);
  part("owned", account.owned);
  part("launched_outside_any_range", account.outside);
  part("launched_before_the_recording", account.before);
  part("launch_unknown", account.unknown);
  out += '}';
}

}  // namespace

void write_document_begin(TextOutput& out, const DocumentFacts& facts, const TimeBase& base,
                          ExportNotes& export_notes) {
  std::string text = "{\n";
  base::JsonWriter document(text, kALineEach);
  document.number("schemaVersion", 1);
  std::string& devices = document.key("deviceProperties");
  devices += '[';
  for (std::size_t i = 0; i < facts.devices.size(); ++i) {
    devices += i == 0 ? "\n" : ",\n";
    append_device(devices, facts.devices[i]);
  }
  devices += ']';
  const bool distributed = append_members(document, facts, export_notes);
  if (!distributed && facts.rank >= 0) {
    std::string& info = document.key("distributedInfo");
    info += "{\"rank\": " + std::to_string(facts.rank);
    if (facts.world_size > 0) info += ", \"world_size\": " + std::to_string(facts.world_size);
    info += '}';
  }
  document.text("displayTimeUnit", "ns");  // by "ms" chrome://tracing compares whole microseconds
  if (base.wall_ns()) document.number("baseTimeNanoseconds", *base.wall_ns());
  document.key("traceEvents") += '[';
  out.text(text);
}

void write_document_end(TextOutput& out, const DocumentFacts& facts, const DocumentEnd& end,
                        const ExportNotes& export_notes) {
  std::string text = "\n],\n";
  base::JsonWriter document(text, kALineEach);
  document.text("traceName", facts.trace_name + (facts.simulated ? " (" + std::string(kSimulatedText) + ")" : ""));
  document.key(kOurs) += "{\n";
  base::JsonWriter own(text, kALineEach);
  own.text("version", RANGEFINDER_VERSION);
  own.boolean("simulated", facts.simulated);
  for (const auto& [key, value] : facts.own) own.key(key) += value;
  append_health(own.key("health"), end.health);
  own.number("clock_error_ns", end.clock_error_ns);
  if (end.account != nullptr) append_account(own.key("device_time"), *end.account);
  base::append_json_list(own.key("notes"), end.notes, kInALine);
  base::append_json_list(own.key("export"), export_notes.texts(), kInALine);
  text += "}\n}\n";
  out.text(text);
}

std::string health_line(const CaptureHealth& health) {
  std::string losses;
  for (const CaptureHealth::Entry& entry : health.entries()) {
    if (entry.count == 0 || entry.severity != CaptureHealth::Severity::kLoss) continue;
    losses.append(losses.empty() ? "" : "; ").append(base::with_thousands(entry.count)).append(" ").append(entry.text);
  }
  return losses.empty() ? "recording complete" : "recording INCOMPLETE: " + losses;
}

}  // namespace rangefinder::chrome
