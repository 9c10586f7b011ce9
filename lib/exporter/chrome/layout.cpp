// SPDX-License-Identifier: MIT
#include "exporter/chrome/layout.hpp"

#include "exporter/chrome/head_cache.hpp"

namespace rangefinder::chrome {
namespace {

// torch.profiler's order: processes by their number, then devices, then the rest.
constexpr std::int64_t kDeviceSortIndex = 5'000'000;
constexpr std::int64_t kOverheadSortIndex = 0x100000A;
constexpr std::int64_t kOverheadPid = -1;

// Keys of `made_` behind those of Beside.
enum Own : int { kGroupWaits = 100, kSteps, kWindows, kOverheads, kSensors, kCounters, kAllocations };

// A row beside a stream has the stream's number behind a digit for what it is, which puts rows of a kind together, in
// the order of their streams.
constexpr std::int64_t kFirstBeside = 5'000'000;
constexpr std::int64_t kBesideStride = 100'000;
// Behind the main thread and before all others. No thread but a first process' main thread has that number.
constexpr std::int64_t kStepsTid = 1;

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

std::string_view suffix_of(Beside what) noexcept {
  switch (what) {
    case Beside::kWaits:
      return " waits";
    case Beside::kRanges:
      return " ranges";
    case Beside::kStartEnd:
      return " start/end ranges";
  }
  return "";
}

}  // namespace

/// "rank 1 on node7: python3": the end is what viewers cut off first.
std::string Layout::heading(const ProcessLabel& process, const std::string& name) const {
  if (!facts_.processes) return name;
  std::string text = process.rank >= 0 ? "rank " + std::to_string(process.rank) : "pid " + std::to_string(process.pid);
  if (facts_.hosts && !process.host.empty()) text.append(" on ").append(process.host);
  return name.empty() ? text : text + ": " + name;
}

GroupId Layout::process(const ProcessLabel& process) {
  return table_.add_group(process.pid, heading(process, std::string(process.name)), "CPU", process.pid,
                          {process.pid, true});
}

GroupId Layout::device(std::uint32_t id, std::string_view name, const ProcessLabel& process) {
  const std::string number = "GPU " + std::to_string(id);
  const std::string labels = number + (facts_.simulated ? ",SIMULATED: no GPU was used" : "");
  const std::string text = name.empty() ? number : number + " (" + std::string(name) + ")";
  return table_.add_group(id, heading(process, text), labels, kDeviceSortIndex + id, {process.pid, false});
}

TrackId Layout::thread(GroupId process, std::int64_t tid, std::string_view name) {
  return table_.add_track(process, tid, name, tid, true);
}

TrackId Layout::main_thread(GroupId process, TrackId otherwise) const {
  return table_.find_track(process, table_.group(process).wanted_pid).value_or(otherwise);
}

TrackId Layout::stream(GroupId device, std::uint32_t context, std::int64_t id, std::uint32_t green_context, bool join) {
  const auto known = table_.find_track(device, id);
  if (join && known) return *known;
  return table_.add_track(device, id, stream_name(id, context, green_context, known.has_value()), id);
}

TrackId Layout::lazily(std::uint32_t owner, int what, GroupId group, std::optional<std::int64_t> tid,
                       std::string_view name, std::int64_t sort_index) {
  const auto [found, added] = made_.try_emplace({owner, what}, kNoTrack);
  if (added) found->second = table_.add_track(group, tid, name, sort_index);
  return found->second;
}

TrackId Layout::beside(TrackId track, Beside what) {
  const int kind = static_cast<int>(what);
  if (const auto found = made_.find({track, kind}); found != made_.end()) return found->second;
  const Track base = table_.track(track);
  std::optional<std::int64_t> tid;
  if (base.tid < kBesideStride) tid = kFirstBeside + kind * kBesideStride + base.tid;
  return lazily(track, kind, base.group, tid, base.label().append(suffix_of(what)), base.sort_index);
}

TrackId Layout::waits(GroupId group) { return lazily(group, kGroupWaits, group, {}, "device waits", -1); }

TrackId Layout::steps(GroupId process) { return lazily(process, kSteps, process, kStepsTid, "steps", 0); }

TrackId Layout::windows(GroupId process) { return lazily(process, kWindows, process, {}, "recording windows", 0); }

TrackId Layout::sensors(GroupId device) { return lazily(device, kSensors, device, {}, "sensors", -2); }

TrackId Layout::counters(GroupId device) { return lazily(device, kCounters, device, {}, "counters", -2); }

TrackId Layout::allocations(GroupId group) { return lazily(group, kAllocations, group, {}, "allocation calls", -1); }

TrackId Layout::overheads() {
  if (const auto found = made_.find({0, kOverheads}); found != made_.end()) return found->second;
  // torch.profiler says pid -1, which Perfetto takes for the process 0; the table gives another number.
  auto group = table_.find_group(kOverheadPid);
  if (!group) group = table_.add_group(kOverheadPid, "CUPTI Overhead", "", kOverheadSortIndex);
  return lazily(0, kOverheads, *group, {}, "overhead", 0);
}

void Layout::describe(EventWriter& writer, std::int64_t time_ns) const {
  if (writer.has_target()) return;  // which describes a row when it is first used
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
    if (!track.name.empty()) text("thread_name", track.ids, "\"name\":", track.name);
    number("thread_sort_index", track.ids, track.sort_index);
  }
}

}  // namespace rangefinder::chrome
