// SPDX-License-Identifier: MIT
#include "exporter/chrome/clean_json.hpp"
#include "exporter/perfetto/trace_writer.hpp"

#include <rangefinder/version.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace rangefinder::perfetto {
namespace {

using protozero::pbf_writer;

// The sequence of what belongs to no row.
constexpr std::uint32_t kTraceSequence = 1;
// Perfetto numbers GPUs by their place in a list: far fewer than a number that was made up for a second process.
constexpr std::uint32_t kMostGpus = 1024;

void write(Packets& packets, Tag tag, const std::string& message) {
  std::string out;
  pbf_writer(out).add_uint32(packet::kSequenceId, kTraceSequence);
  add_message(out, tag, message);
  packets.write(out);
}

std::string reading_of(std::uint32_t id, std::int64_t time_ns) {
  std::string out;
  pbf_writer clock(out);
  clock.add_uint32(clock_snapshot::kClockId, id);
  clock.add_uint64(clock_snapshot::kClockTimestamp, static_cast<std::uint64_t>(time_ns));
  return out;
}

std::string gpu_of(const DeviceInfo& device) {
  std::string out;
  add_text(out, gpu_info::kName, device.name.empty() ? "GPU " + std::to_string(device.id) : device.name);
  if (device.compute_major != 0) add_text(out, gpu_info::kVendor, "NVIDIA");
  const auto fact = [&](std::string_view key, std::uint64_t value) {
    if (value == 0) return;  // not known
    std::string entry;
    add_text(entry, gpu_info::kKey, key);
    add_text(entry, gpu_info::kValue, std::to_string(value));
    add_message(out, gpu_info::kExtraInfo, entry);
  };
  fact("compute_capability_major", device.compute_major);
  fact("compute_capability_minor", device.compute_minor);
  fact("memory_bytes", device.memory_bytes);
  fact("multiprocessors", device.multiprocessors);
  fact("warp_size", device.warp_size);
  fact("max_threads_per_multiprocessor", device.max_threads_per_multiprocessor);
  fact("registers_per_multiprocessor", device.registers_per_multiprocessor);
  fact("shared_bytes_per_multiprocessor", device.shared_bytes_per_multiprocessor);
  return out;
}

/// Of a job, GPUs of several processes have the same numbers; then only names of rows tell them apart.
void write_gpus(Packets& packets, const std::vector<DeviceInfo>& devices) {
  std::vector<const DeviceInfo*> by_id;
  for (const DeviceInfo& device : devices) {
    if (device.id >= kMostGpus) return;
    by_id.resize(std::max<std::size_t>(by_id.size(), device.id + std::size_t{1}));
    if (by_id[device.id] != nullptr) return;
    by_id[device.id] = &device;
  }
  if (by_id.empty()) return;
  std::string info;
  for (const DeviceInfo* const device : by_id)
    add_message(info, gpu_info::kGpus, device != nullptr ? gpu_of(*device) : std::string());
  write(packets, packet::kGpuInfo, info);
}

/// Facts about the trace, which viewers show on a page of their own.
class Attributes {
 public:
  void text(std::string_view key, std::string_view value) {
    begin(key);
    add_text(attribute_, attributes::kString, value);
    add_message(all_, attributes::kAttribute, attribute_);
  }
  void number(std::string_view key, std::int64_t value) {
    begin(key);
    pbf_writer(attribute_).add_int64(attributes::kLong, value);
    add_message(all_, attributes::kAttribute, attribute_);
  }
  const std::string& message() const noexcept { return all_; }

 private:
  void begin(std::string_view key) {
    attribute_.clear();
    add_text(attribute_, attributes::kKey, "rangefinder." + std::string(key));
  }
  std::string all_, attribute_;
};

std::int64_t bounded(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(value, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
}

void add_account(Attributes& out, const Account& account) {
  const auto part = [&](std::string_view name, const Account::Part& value) {
    const std::string key = "device_time." + std::string(name);
    out.number(key + ".gpu_ops", bounded(value.gpu_ops));
    out.number(key + ".gpu_sum_ns", value.gpu_sum_ns);
  };
  part("total", account.total);
  part("owned", account.owned);
  part("launched_outside_any_range", account.outside);
  part("launched_before_the_recording", account.before);
  part("launch_unknown", account.unknown);
}

void add_list(Attributes& out, std::string_view key, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) out.text(std::string(key) + "." + std::to_string(i + 1), texts[i]);
}

}  // namespace

void write_metadata_begin(Packets& packets, const chrome::DocumentFacts& facts, const Clock& clock) {
  std::string snapshot;
  add_message(snapshot, clock_snapshot::kClocks, reading_of(clock_snapshot::kMonotonic, clock.begin_ns()));
  if (clock.realtime_ns())
    add_message(snapshot, clock_snapshot::kClocks, reading_of(clock_snapshot::kRealtime, *clock.realtime_ns()));
  // Times of the trace are those of the recording, without a conversion.
  pbf_writer(snapshot).add_enum(clock_snapshot::kPrimaryTraceClock,
                                static_cast<std::int32_t>(clock_snapshot::kMonotonic));
  write(packets, packet::kClockSnapshot, snapshot);
  write_gpus(packets, facts.devices);
}

void write_metadata_end(Packets& packets, const chrome::DocumentFacts& facts, const chrome::DocumentEnd& end,
                        const chrome::ExportNotes& export_notes, const Written& written) {
  Attributes out;
  out.text("version", RANGEFINDER_VERSION);
  if (!facts.trace_name.empty()) out.text("trace_name", facts.trace_name);
  if (facts.simulated) out.text("simulated", chrome::kSimulatedText);
  if (facts.rank >= 0) out.number("rank", facts.rank);
  if (facts.world_size > 0) out.number("world_size", facts.world_size);
  for (const auto& [key, value] : facts.members) out.text("input." + key, chrome::text_of(value));
  for (const auto& [key, value] : facts.own) out.text(key, chrome::text_of(value));
  out.text("health", chrome::health_line(end.health));
  for (const CaptureHealth::Entry& entry : end.health.entries())
    if (entry.count != 0) out.number("health." + std::string(entry.name), bounded(entry.count));
  out.number("clock_error_ns", end.clock_error_ns);
  if (end.account != nullptr) add_account(out, *end.account);
  add_list(out, "note", end.notes);
  add_list(out, "export", export_notes.texts());
  if (written.without_row != 0)
    out.number("export.events_on_rows_that_the_input_does_not_describe", bounded(written.without_row));
  write(packets, packet::kTraceAttributes, out.message());
}

}  // namespace rangefinder::perfetto
