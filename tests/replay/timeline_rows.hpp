// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <string>
#include <vector>

// The rows of a timeline's tables as text, in an order that does not depend on that of the records.
namespace rangefinder::testing {

using TextRows = std::vector<std::string>;

template <typename Describe>
TextRows text_rows(std::size_t count, Describe describe) {
  TextRows rows;
  for (std::uint32_t row = 0; row < count; ++row) rows.push_back(describe(row));
  std::sort(rows.begin(), rows.end());
  return rows;
}

inline std::string span_text(std::int64_t begin_ns, std::int64_t end_ns) {
  return " [" + std::to_string(begin_ns) + ", " + std::to_string(end_ns) + ")";
}
inline std::string thread_text(const Timeline& timeline, ThreadIndex thread) {
  const ThreadInfo& info = timeline.threads[thread];
  return " " + std::to_string(timeline.processes[info.process].pid) + ":" + std::to_string(info.tid);
}
inline std::string stream_text(const Timeline& timeline, StreamIndex stream) {
  if (stream == kNone) return " no stream";
  const StreamInfo& info = timeline.streams[stream];
  const DeviceInfo& device = timeline.devices[info.device];
  return " " + device.name + " " + std::to_string(device.id) + "/" + std::to_string(info.context) + "/" +
         std::to_string(info.id);
}

inline TextRows range_rows(const Timeline& timeline) {
  const RangeTable& table = timeline.ranges;
  return text_rows(table.size(), [&](std::uint32_t row) {
    return std::string(timeline.text(table.domain[row])) + ":" + std::string(timeline.text(table.name[row])) +
           span_text(table.begin_ns[row], table.end_ns[row]) + thread_text(timeline, table.thread[row]) +
           thread_text(timeline, table.end_thread[row]) +
           (table.style[row] == RangeStyle::kScoped ? " scoped" : " start/end") +
           ((table.flags[row] & kUnfinished) != 0 ? " unfinished" : "");
  });
}

inline TextRows mark_rows(const Timeline& timeline) {
  const MarkTable& table = timeline.marks;
  return text_rows(table.size(), [&](std::uint32_t row) {
    return std::string(timeline.text(table.name[row])) + " " + std::to_string(table.time_ns[row]) +
           thread_text(timeline, table.thread[row]);
  });
}

inline TextRows call_rows(const Timeline& timeline) {
  const CallTable& table = timeline.calls;
  return text_rows(table.size(), [&](std::uint32_t row) {
    return std::string(timeline.text(table.name[row])) + span_text(table.begin_ns[row], table.end_ns[row]) +
           thread_text(timeline, table.thread[row]) + " #" + std::to_string(table.correlation[row]) + " = " +
           std::to_string(table.result[row]);
  });
}

inline TextRows activity_rows(const Timeline& timeline) {
  const ActivityTable& table = timeline.activities;
  return text_rows(table.size(), [&](std::uint32_t row) {
    std::string text = std::to_string(static_cast<int>(table.kind[row]));
    text += stream_text(timeline, table.stream[row]) + span_text(table.begin_ns[row], table.end_ns[row]);
    text += " #" + std::to_string(table.correlation[row]) + " " + std::to_string(table.bytes[row]) + " bytes";
    text += " node " + std::to_string(table.graph_node[row]) + " of " + std::to_string(table.graph[row]);
    if (table.launch[row] == kNone) return text + " launch unknown";
    const std::uint32_t launch = table.launch[row];
    return text + " launched at " + std::to_string(timeline.launches.time_ns[launch]) +
           thread_text(timeline, timeline.launches.thread[launch]);
  });
}

inline TextRows sync_rows(const Timeline& timeline) {
  const SyncTable& table = timeline.syncs;
  return text_rows(table.size(), [&](std::uint32_t row) {
    return std::to_string(table.type[row]) + stream_text(timeline, table.stream[row]) +
           span_text(table.begin_ns[row], table.end_ns[row]) + " #" + std::to_string(table.correlation[row]);
  });
}

}  // namespace rangefinder::testing
