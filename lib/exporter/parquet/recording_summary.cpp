// SPDX-License-Identifier: MIT
// The tables of a few rows, written once a recording has been read.
#include "exporter/parquet/recording_tables.hpp"
#include "timeline/words.hpp"

#include <string>
#include <vector>

namespace rangefinder::parquet {
namespace {

const std::vector<Field> kSummaryFields = {
    {"step", CellKind::kInt64, true},
    {"owner", CellKind::kText},
    {"path", CellKind::kText, true},
    {"range", CellKind::kText},
    {"depth", CellKind::kInt32},
    {"runs"},
    {"host_ns"},
    {"gpu_ops"},
    {"gpu_sum_ns"},
    {"gpu_inclusive_ns"},
    {"bytes"},
    {"launch_delay_ns"},
};
const std::vector<Field> kStepFields = {
    {"step"},
    {"finished", CellKind::kFlag},
    {"begin_ns", CellKind::kInt64, true},
    {"step_ns", CellKind::kInt64, true},
    {"items"},
    {"gpu_ops"},
    {"gpu_sum_ns"},
    {"gpu_busy_ns"},
    {"exposed_communication_ns"},
};
const std::vector<Field> kKernelFields = {
    {"kind", CellKind::kText},
    {"name", CellKind::kText},
    {"communication", CellKind::kFlag},
    {"gpu_ops"},
    {"gpu_sum_ns"},
    {"least_ns"},
    {"most_ns"},
    {"bytes"},
};
const std::vector<Field> kRecordingFields = {
    {"schema_version", CellKind::kInt32},
    {"format", CellKind::kText},
    {"host", CellKind::kText},
    {"device_name", CellKind::kText},
    {"devices", CellKind::kInt32},
    {"pid"},
    {"world_size", CellKind::kInt32, true},
    {"begin_ns"},
    {"end_ns"},
    {"realtime_offset_ns", CellKind::kInt64, true},
    {"simulated", CellKind::kFlag},
    {"gpu_ops"},
    {"gpu_sum_ns"},
    {"owned_ops"},
    {"owned_ns"},
    {"outside_ops"},
    {"outside_ns"},
    {"before_ops"},
    {"before_ns"},
    {"unknown_ops"},
    {"unknown_ns"},
};
const std::vector<Field> kHealthFields = {
    {"cause", CellKind::kText},
    {"number", CellKind::kInt32},
    {"loss", CellKind::kFlag},
    {"count"},
};

std::int64_t as_signed(std::uint64_t count) noexcept { return static_cast<std::int64_t>(count); }

}  // namespace

void RecordingTables::write_cells(const Summary::Cells& cells) {
  RowFile& out = file("summary", "summary", kSummaryFields, {0});
  for (const auto& [cell, figures] : cells) {
    const bool owned = cell.owner < paths_.size();
    const StringId name = owned ? paths_.name(cell.owner) : StringId::kEmpty;
    out.add({cell.step, owner_word(cell.owner), owned ? std::int64_t{cell.owner} : kMissing,
             static_cast<std::uint32_t>(name), owned ? paths_.depth(cell.owner) : 0, as_signed(figures.runs),
             figures.host_ns, as_signed(figures.gpu_ops), figures.gpu_sum_ns, figures.gpu_inclusive_ns,
             as_signed(figures.bytes), figures.launch_delay_ns});
  }
}

void RecordingTables::write_steps() {
  RowFile& out = file("steps", "steps", kStepFields, {0});
  for (const auto& [number, step] : summary_.steps())
    out.add({number, step.finished, step.begin_ns,
             step.finished ? projection::minus(step.end_ns, step.begin_ns) : kMissing, as_signed(step.items),
             as_signed(step.gpu_ops), step.gpu_sum_ns, step.busy.busy,
             projection::minus(step.busy.busy, step.work.busy)});
}

void RecordingTables::write_kernels() {
  RowFile& out = file("kernels", "kernels", kKernelFields, {});
  for (const auto& [key, kernel] : summary_.kernels())
    out.add({kind_words_[static_cast<std::size_t>(key.kind)], static_cast<std::uint32_t>(key.name), key.communication,
             as_signed(kernel.gpu_ops), kernel.gpu_sum_ns, kernel.least_ns, kernel.most_ns, as_signed(kernel.bytes)});
}

void RecordingTables::write_recording(std::int64_t begin_ns, std::int64_t end_ns) {
  RowFile& out = file("recordings", "recording", kRecordingFields, {});
  const ProcessInfo& process = timeline_.processes[options_.process];
  std::string device_name;
  std::int64_t devices = 0;
  for (const DeviceInfo& device : timeline_.devices) {
    if (device.process != options_.process) continue;
    ++devices;
    if (device_name.empty()) device_name = device.name;
  }
  const Account& account = summary_.account();
  out.add({kSchemaVersion,
           word(word_of(timeline_.format)),
           word(process.host),
           word(device_name),
           devices,
           process.pid,
           process.world_size < 0 ? kMissing : process.world_size,
           begin_ns,
           end_ns,
           timeline_.realtime_offset_ns,
           timeline_.simulated,
           as_signed(account.total.gpu_ops),
           account.total.gpu_sum_ns,
           as_signed(account.owned.gpu_ops),
           account.owned.gpu_sum_ns,
           as_signed(account.outside.gpu_ops),
           account.outside.gpu_sum_ns,
           as_signed(account.before.gpu_ops),
           account.before.gpu_sum_ns,
           as_signed(account.unknown.gpu_ops),
           account.unknown.gpu_sum_ns});
}

void RecordingTables::write_health() {
  RowFile& out = file("health", "health", kHealthFields, {1});
  for (const CaptureHealth::Entry& entry : timeline_.health.entries())
    if (entry.count != 0)
      out.add(
          {word(entry.name), entry.number, entry.severity == CaptureHealth::Severity::kLoss, as_signed(entry.count)});
}

}  // namespace rangefinder::parquet
