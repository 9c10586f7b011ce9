// SPDX-License-Identifier: MIT
#include "analysis/range_at.hpp"
#include "analysis/waits.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"
#include "report/views/range_paths.hpp"
#include "report/views/wait_words.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

// `sync`: where the host waits for the device, for what, and what of the device's work ended the wait.
namespace rangefinder::report {
namespace {

using analysis::Wait;
using analysis::WaitReason;

std::vector<RangeIndex> ranges_of(const ProjectedTimeline& projected, const std::vector<Wait>& waits) {
  std::vector<analysis::HostMoment> moments;
  moments.reserve(waits.size());
  for (const Wait& wait : waits) moments.push_back({wait.thread, wait.begin_ns});
  return analysis::ranges_at(projected.timeline(), projected.projection_options(), moments);
}

StringId call_name(const Timeline& timeline, const Wait& wait) {
  return wait.call < timeline.calls.size() ? timeline.calls.name[wait.call] : StringId::kEmpty;
}

StringId work_name(const Timeline& timeline, const Wait& wait) {
  return wait.last != kNone ? timeline.activities.name[wait.last] : StringId::kEmpty;
}

/// "7" or "0:7", with the device in front where there are several; a device alone is "all of 0".
std::string awaited_text(const Timeline& timeline, const Wait& wait) {
  if (wait.stream < timeline.streams.size()) {
    const StreamInfo& stream = timeline.streams[wait.stream];
    const std::string id = std::to_string(stream.id);
    return timeline.devices.size() > 1 ? std::to_string(timeline.devices[stream.device].id) + ":" + id : id;
  }
  return wait.device < timeline.devices.size() ? "all of " + std::to_string(timeline.devices[wait.device].id) : "";
}

void add_notes(const Timeline& timeline, const std::vector<Wait>& waits, Table& table) {
  if (timeline.syncs.size() == 0 && !waits.empty())
    table.note(
        "sync: this input has no synchronisation records: waits are found by name of call, and streams are unknown");
  const auto is_blind = [](const Wait& wait) {
    return wait.sync != kNone && wait.reason == WaitReason::kEvent && wait.stream == kNone;
  };
  if (const auto blind = std::count_if(waits.begin(), waits.end(), is_blind); blind != 0)
    table.note("sync: " + std::to_string(blind) +
               " waits for an event: the input does not say on which stream the event was recorded");
}

Table instances_of(const ProjectedTimeline& projected, const std::vector<Wait>& waits) {
  const Timeline& timeline = projected.timeline();
  struct Row {
    const Wait& wait;
    Paths::Node range;
  };
  const auto busy = [](const Row& row) {
    const bool known = row.wait.blocks_host() && (row.wait.stream != kNone || row.wait.device != kNone);
    return if_that(known, row.wait.busy_ns);
  };
  const auto work_ends = [&](const Row& row) -> std::optional<std::int64_t> {
    if (row.wait.last == kNone) return {};
    return timeline.activities.end_ns[row.wait.last];
  };
  ColumnsOf<Row> columns(timeline);
  columns.path("Range", &Row::range);
  columns.text("Reason", [](const Row& row) { return wait_word(row.wait.reason); });
  columns.text("Call", [&](const Row& row) { return call_name(timeline, row.wait); }).if_room(3);
  columns.text("Thread", [&](const Row& row) { return thread_label(timeline, row.wait.thread); }).if_room(4);
  columns.timestamp("Begin", [](const Row& row) { return row.wait.begin_ns; });
  columns.time("Duration", [](const Row& row) { return row.wait.length_ns(); });
  columns.text("Stream", [&](const Row& row) { return awaited_text(timeline, row.wait); }).if_room(5);
  columns.time("GPU busy", busy).if_room(2);
  columns.timestamp("Last work ends", work_ends).if_room(6);
  columns.kernel("Last work to end", [&](const Row& row) { return work_name(timeline, row.wait); }).if_room(1);
  common::add_id_of(columns, "Range", &Row::range);
  Table table = columns.table();
  RangePaths paths(table, projected);
  const std::vector<RangeIndex> ranges = ranges_of(projected, waits);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const Paths::Node path =
        ranges[i] != kNone ? paths.of(ranges[i]) : paths.words(range_label(timeline, kNone, waits[i].thread));
    columns.add_row(table, {waits[i], path});
  }
  return table;
}

struct WaitGroup {
  std::string range;
  WaitReason reason = WaitReason::kUnknown;
  StringId call = StringId::kEmpty;
  ThreadIndex thread = kNone;
  std::uint64_t count = 0;
  bool blocks = false;
  std::int64_t blocked = 0, longest = 0, busy = 0;
  bool knows_work = false;
  std::unordered_map<std::uint32_t, std::int64_t> work;  // name -> time blocked
};

void take(WaitGroup& group, const Timeline& timeline, const Wait& wait) {
  ++group.count;
  if (!wait.blocks_host()) return;
  group.blocks = true;
  group.blocked += wait.length_ns();
  group.longest = std::max(group.longest, wait.length_ns());
  group.busy += wait.busy_ns;
  group.knows_work = group.knows_work || wait.stream != kNone || wait.device != kNone;
  if (wait.last != kNone) group.work[static_cast<std::uint32_t>(work_name(timeline, wait))] += wait.length_ns();
}

std::vector<WaitGroup> groups_of(const ProjectedTimeline& projected, const std::vector<Wait>& waits) {
  const Timeline& timeline = projected.timeline();
  const std::vector<RangeIndex> ranges = ranges_of(projected, waits);
  std::map<std::tuple<std::string, WaitReason, StringId, ThreadIndex>, WaitGroup> found;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const Wait& wait = waits[i];
    const std::tuple key{range_label(timeline, ranges[i], wait.thread), wait.reason, call_name(timeline, wait),
                         wait.thread};
    WaitGroup& group = found[key];
    std::tie(group.range, group.reason, group.call, group.thread) = key;
    take(group, timeline, wait);
  }
  std::vector<WaitGroup> groups;
  for (auto& [key, group] : found) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const WaitGroup& a, const WaitGroup& b) { return a.blocked > b.blocked; });
  return groups;
}

/// What ended most of the time waited; of equal shares the first name, so that the answer does not depend on a hash.
std::string main_work(const Timeline& timeline, const WaitGroup& group) {
  std::string_view best;
  std::int64_t most = -1;
  for (const auto& [name, time] : group.work) {
    const std::string_view text = timeline.text(static_cast<StringId>(name));
    if (time > most || (time == most && text < best)) {
      best = text;
      most = time;
    }
  }
  return group.work.size() < 2 ? std::string(best)
                               : std::string(best) + " and " + std::to_string(group.work.size() - 1) + " more";
}

Table groups_table(const ProjectedTimeline& projected, const std::vector<Wait>& waits) {
  using Row = WaitGroup;
  const Timeline& timeline = projected.timeline();
  const std::vector<Row> groups = groups_of(projected, waits);
  std::int64_t whole = 0;
  for (const Row& group : groups) whole += group.blocked;
  const auto if_blocks = [](auto get) {
    return [get](const Row& row) { return figure_of(row.blocks ? &row : nullptr, get); };
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Range", &Row::range);
  columns.text("Reason", [](const Row& row) { return wait_word(row.reason); });
  columns.text("Call", &Row::call).if_room(3);
  columns.text("Thread", [&](const Row& row) { return thread_label(timeline, row.thread); }).if_room(3);
  columns.count("Count", &Row::count);
  columns.time("Blocked", if_blocks(&Row::blocked));
  columns.percent("Share", if_blocks([whole](const Row& row) { return common::share(row.blocked, whole); }));
  columns.time("Avg", if_blocks([](const Row& row) { return common::mean(row.blocked, row.count); })).if_room(5);
  columns.time("Max", if_blocks(&Row::longest)).if_room(4);
  columns.time("GPU busy", [](const Row& row) { return if_that(row.knows_work, row.busy); }).if_room(2);
  // Can be longer than a line: comes last.
  columns.kernel("Waited for", [&](const Row& row) { return main_work(timeline, row); }).if_room(1).if_any();
  return columns.table_of(groups);
}

}  // namespace

Result<Table> make_sync(const ProjectedTimeline& projected, const ViewOptions& options) {
  const std::vector<Wait> waits = analysis::waits_of(projected.timeline());
  Table table = options.instances ? instances_of(projected, waits) : groups_table(projected, waits);
  add_notes(projected.timeline(), waits, table);
  return table;
}

}  // namespace rangefinder::report
