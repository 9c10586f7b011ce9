// SPDX-License-Identifier: MIT
#include "exporter/perfetto/trace_writer.hpp"

#include "base/scaled_decimal.hpp"
#include "exporter/chrome/clean_json.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder::perfetto {
namespace {

using chrome::RawMember;

const RawMember* find(const std::vector<RawMember>& members, std::string_view key) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const RawMember& m) { return m.key == key; });
  return found == members.end() ? nullptr : &*found;
}

}  // namespace

void TraceWriter::begin(const chrome::DocumentFacts& facts, const chrome::TimeBase& base, std::int64_t first_ns) {
  origin_ns_ = base.origin_ns();
  std::optional<std::int64_t> realtime;
  std::int64_t wall = 0;
  if (base.wall_ns() && !__builtin_sub_overflow(first_ns, origin_ns_, &wall) &&
      !__builtin_add_overflow(wall, *base.wall_ns(), &wall) && wall >= 0)
    realtime = wall;
  clock_ = Clock(first_ns, realtime);
  write_metadata_begin(packets_, facts, clock_);
}

void TraceWriter::end(const chrome::DocumentFacts& facts, const chrome::DocumentEnd& end,
                      const chrome::ExportNotes& export_notes) {
  flush();
  write_metadata_end(packets_, facts, end, export_notes, written_);
}

void TraceWriter::open(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns) {
  event_ = {};
  open_ = {};
  // Render stages are on no track that an arrow could end at: kLinkedStages says the same in fields of both ends.
  if (gpu_ != PerfettoGpu::kSlices && is_launch_arrow(head)) return;
  event_.arguments_at = arguments_.size();
  event_.uses_at = uses_.size();
  event_.begin_ns = clock_.at(begin_ns);
  event_.end_ns = std::max(event_.begin_ns, clock_.at(end_ns));
  event_.row = rows_.find(ids);
  if (event_.row == nullptr) {
    ++written_.without_row;
    return;
  }
  const Heads::Found found = heads_.of(head);
  event_.head = found.head;
  event_.correlation = found.flow_id;
  open_.is_sample = found.head->phase == kSample;
}

void TraceWriter::open_slice(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns) {
  open(head, ids, begin_ns, end_ns);
  event_.is_stage = gpu_ != PerfettoGpu::kSlices && event_.row != nullptr && event_.head->is_activity;
}

void TraceWriter::open_point(std::string_view head, std::string_view ids, std::int64_t time_ns) {
  open(head, ids, time_ns, time_ns);
}

void TraceWriter::close() {
  constexpr std::size_t kMostHeld = std::size_t{1} << 15;
  constexpr std::size_t kMostBytes = std::size_t{1} << 23;  // of arguments
  if (event_.row == nullptr) return;
  const Head& head = *event_.head;
  if (open_.is_sample) {
    write_counter();
  } else {
    if (head.phase == kSlice) ++written_.slices;
    if (event_.is_stage)
      event_.specification = &specifications_.of(heads_.names(), head.name, head.is_kernel, open_.device, open_.detail);
    event_.arguments_size = static_cast<std::uint32_t>(arguments_.size() - event_.arguments_at);
    event_.uses_size = static_cast<std::uint32_t>(uses_.size() - event_.uses_at);
    if (event_.row->places.empty()) held_rows_.push_back(event_.row);
    event_.row->places.push_back({event_.begin_ns, event_.end_ns, static_cast<std::uint32_t>(held_.size())});
    held_.push_back(event_);
  }
  if (held_.size() >= kMostHeld || arguments_.size() >= kMostBytes || heads_.rare() >= kMostHeld) flush();
}

void TraceWriter::flush() {
  std::sort(held_rows_.begin(), held_rows_.end(), [](const Row* a, const Row* b) { return a->uuid < b->uuid; });
  for (Row* const row : held_rows_) flush(*row);
  held_rows_.clear();
  held_.clear();
  arguments_.clear();
  uses_.clear();
  heads_.forget_rare();
}

void TraceWriter::flush(Row& row) {
  const auto is_before = [](const Row::Place& a, const Row::Place& b) {
    return std::tie(a.begin_ns, b.end_ns, a.held) < std::tie(b.begin_ns, a.end_ns, b.held);
  };
  if (!std::is_sorted(row.places.begin(), row.places.end(), is_before))
    std::sort(row.places.begin(), row.places.end(), is_before);
  for (const Row::Place& place : row.places) {
    event_ = held_[place.held];
    write_held();
  }
  row.places.clear();
}

void TraceWriter::event(std::string_view json) {
  std::vector<RawMember> members;
  if (!chrome::split_object(json, members)) return;
  const RawMember* const phase = find(members, "ph");
  const RawMember* const time = find(members, "ts");
  const RawMember* const process = find(members, "pid");
  const RawMember* const thread = find(members, "tid");
  if (phase == nullptr || time == nullptr || process == nullptr || thread == nullptr) {
    ++written_.without_row;
    return;
  }
  std::string head = "{\"ph\":" + std::string(phase->value);
  for (const std::string_view key : {"id", "cat", "name"}) {
    if (const RawMember* const member = find(members, key); member != nullptr)
      head.append(",\"").append(key).append("\":").append(member->value);
  }
  std::string ids = ",\"pid\":" + std::string(process->value) + ",\"tid\":" + std::string(thread->value) + ",\"ts\":";
  const base::ScaledDecimal micros = base::scaled_decimal(time->value, 3);
  std::int64_t time_ns = 0;
  if (!micros.valid || __builtin_add_overflow(micros.value, origin_ns_, &time_ns)) return;
  open_point(head, ids, time_ns);
  if (const RawMember* const own = find(members, "args"); own != nullptr && own->value.starts_with('{'))
    arguments(own->value.substr(1, own->value.size() - 2));
  close();
}

}  // namespace rangefinder::perfetto
