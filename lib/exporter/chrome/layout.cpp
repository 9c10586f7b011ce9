// SPDX-License-Identifier: MIT
#include "exporter/chrome/layout.hpp"

#include "exporter/chrome/head_cache.hpp"

namespace rangefinder::chrome {
namespace {

// torch.profiler's order: processes by their number, then devices, then what is nobody's.
constexpr std::int64_t kDeviceSortIndex = 5'000'000;
constexpr std::int64_t kOverheadSortIndex = 0x100000A;
constexpr std::int64_t kOverheadPid = -1;

// Keys of `made_` behind those of Beside.
enum Own : int { kGroupWaits = 100, kSteps, kOverheads, kSensors, kCounters, kAllocations };

std::string ids_of(std::int64_t pid, std::int64_t tid) {
  return ",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) + ",\"ts\":";
}

/// ROCm and the "no stream" of old traces count down from -1, or give the number as 64 bits without a sign.
std::string stream_name(std::int64_t id, std::uint32_t context, std::uint32_t green_context, bool name_context) {
  std::string name = "stream " + std::to_string(id);
  if (name_context) name += " (context " + std::to_string(context) + ")";
  if (green_context != 0) name += " (green context " + std::to_string(green_context) + ")";
  return name;
}

}  // namespace

std::string Layout::heading(const ProcessLabel& process) const {
  std::string text(process.name);
  if (!many_) return text;
  std::string where;
  if (process.rank >= 0) where = "rank " + std::to_string(process.rank);
  if (!process.host.empty()) where.append(where.empty() ? "" : ", ").append(process.host);
  where.append(where.empty() ? "" : ", ").append("pid ").append(std::to_string(process.pid));
  return text + (text.empty() ? "" : " ") + "(" + where + ")";
}

GroupId Layout::process(const ProcessLabel& process) {
  return table_.add_group(process.pid, heading(process), "CPU", process.pid);
}

GroupId Layout::device(std::uint32_t id, const ProcessLabel& process, bool join) {
  if (const auto known = table_.find_group(id); join && known) return *known;
  const std::string labels = "GPU " + std::to_string(id) + (simulated_ ? ",SIMULATED: no GPU was used" : "");
  return table_.add_group(id, heading(process), labels, kDeviceSortIndex + id);
}

TrackId Layout::thread(GroupId process, std::int64_t tid, std::string_view name) {
  return table_.add_track(process, tid, name, tid);
}

TrackId Layout::stream(GroupId device, std::uint32_t context, std::int64_t id, std::uint32_t green_context, bool join) {
  const auto known = table_.find_track(device, id);
  if (join && known) return *known;
  return table_.add_track(device, id, stream_name(id, context, green_context, known.has_value()), id);
}

TrackId Layout::lazily(std::uint32_t owner, int what, std::uint32_t number, GroupId group, std::string_view name,
                       std::int64_t sort_index) {
  const auto [found, added] = made_.try_emplace({owner, what, number}, kNoTrack);
  if (added) found->second = table_.add_track(group, std::nullopt, name, sort_index);
  return found->second;
}

TrackId Layout::beside(TrackId track, Beside what, std::uint32_t number) {
  if (const auto found = made_.find({track, static_cast<int>(what), number}); found != made_.end())
    return found->second;
  const Track base = table_.track(track);
  std::string name = base.label();
  switch (what) {
    case Beside::kWaits:
      name += " waits";
      break;
    case Beside::kRanges:
      name += " ranges, depth " + std::to_string(number);
      break;
    case Beside::kStartEnd:
      name += " start/end ranges";
      break;
    case Beside::kOwnRanges:
      name += " own ranges";
      break;
  }
  return lazily(track, static_cast<int>(what), number, base.group, name, base.sort_index);
}

TrackId Layout::waits(GroupId group) { return lazily(group, kGroupWaits, 0, group, "device waits", -1); }

TrackId Layout::steps(GroupId process) { return lazily(process, kSteps, 0, process, "steps", 0); }

TrackId Layout::sensors(GroupId device) { return lazily(device, kSensors, 0, device, "sensors", -2); }

TrackId Layout::counters(GroupId device) { return lazily(device, kCounters, 0, device, "counters", -2); }

TrackId Layout::allocations(GroupId group) { return lazily(group, kAllocations, 0, group, "allocation calls", -1); }

TrackId Layout::overheads() {
  if (const auto found = made_.find({0, kOverheads, 0}); found != made_.end()) return found->second;
  // torch.profiler says pid -1, which Perfetto takes for the process 0; the table gives another number.
  auto group = table_.find_group(kOverheadPid);
  if (!group) group = table_.add_group(kOverheadPid, "CUPTI Overhead", "", kOverheadSortIndex);
  return lazily(0, kOverheads, 0, *group, "overhead", 0);
}

void Layout::describe(EventWriter& writer, std::int64_t time_ns) const {
  std::string head;
  const auto text = [&](std::string_view what, const std::string& ids, std::string_view key, std::string_view value) {
    head.clear();
    append_head(head, 'M', {}, what);
    writer.open_point(head, ids, time_ns);
    writer.text_argument(key, value);
    writer.close();
  };
  const auto number = [&](std::string_view what, const std::string& ids, std::int64_t value) {
    head.clear();
    append_head(head, 'M', {}, what);
    writer.open_point(head, ids, time_ns);
    writer.signed_argument("\"sort_index\":", value);
    writer.close();
  };
  for (const TrackGroup& group : table_.groups()) {
    const std::string ids = ids_of(group.pid, 0);
    if (!group.name.empty()) text("process_name", ids, "\"name\":", group.name);
    if (!group.labels.empty()) text("process_labels", ids, "\"labels\":", group.labels);
    number("process_sort_index", ids, group.sort_index);
  }
  for (const Track& track : table_.tracks()) {
    if (track.group == kNoGroup) continue;
    if (!track.name.empty()) text("thread_name", track.ids, "\"name\":", track.name);
    number("thread_sort_index", track.ids, track.sort_index);
  }
}

}  // namespace rangefinder::chrome
