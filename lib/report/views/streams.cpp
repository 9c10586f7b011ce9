// SPDX-License-Identifier: MIT
#include "analysis/stream_overlap.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

// `streams`: how much each stream of a device worked, alone and beside others; `streams:summary`: time with no stream,
// one, two and more of them busy, by device; with --instances: the pairs of streams that overlap.
namespace rangefinder::report {
namespace {

using analysis::DeviceConcurrency;
using analysis::StreamConcurrency;
using analysis::StreamOverlap;
using analysis::StreamPair;

DeviceIndex device_of(const Timeline& timeline, StreamIndex stream) { return timeline.streams[stream].device; }

/// Who overlaps with a stream the longest, and for how long.
struct Partner {
  StreamIndex stream = kNone;
  std::int64_t overlap_ns = 0;
};

/// By stream.
std::unordered_map<std::uint32_t, Partner> main_partners(const std::vector<StreamPair>& pairs) {
  std::unordered_map<std::uint32_t, Partner> partners;
  const auto offer = [&](StreamIndex stream, StreamIndex other, std::int64_t overlap_ns) {
    Partner& partner = partners[stream];
    if (overlap_ns > partner.overlap_ns) partner = {other, overlap_ns};
  };
  for (const StreamPair& pair : pairs) {
    offer(pair.first, pair.second, pair.overlap_ns);
    offer(pair.second, pair.first, pair.overlap_ns);
  }
  return partners;
}

Table table_of_streams(const Timeline& timeline, const StreamOverlap& overlap) {
  struct Row {
    const StreamConcurrency& stream;
    std::int64_t device_ns;
    const Partner* partner;
  };
  const auto share = [](const Row& row) { return common::share(row.stream.busy_ns, row.device_ns); };
  const auto with_others = [](const Row& row) { return row.stream.busy_ns - row.stream.alone_ns; };
  ColumnsOf<Row> columns;
  add_device_keys(columns, timeline, [&](const Row& row) { return device_of(timeline, row.stream.stream); });
  columns.text("Stream", [&](const Row& row) { return stream_label(timeline, row.stream.stream); }).naming_rows();
  columns.count("Ops", [](const Row& row) { return row.stream.ops; }).if_room(3);
  columns.time("Busy", [](const Row& row) { return row.stream.busy_ns; });
  columns.percent("Share", share);
  columns.time("Alone", [](const Row& row) { return row.stream.alone_ns; });
  columns.time("With others", with_others);
  columns
      .text("Mostly with",
            [&](const Row& row) { return row.partner ? stream_label(timeline, row.partner->stream) : std::string(); })
      .if_room(1)
      .if_any();
  columns.time("With that one", [](const Row& row) { return figure_of(row.partner, &Partner::overlap_ns); })
      .if_room(2)
      .if_any();
  Table table = columns.table();
  const auto partners = main_partners(overlap.pairs);
  auto device = overlap.devices.begin();
  for (const StreamConcurrency& stream : overlap.streams) {
    while (device->device != device_of(timeline, stream.stream)) ++device;
    const auto partner = partners.find(stream.stream);
    columns.add_row(table, {stream, device->total_ns(), partner == partners.end() ? nullptr : &partner->second});
  }
  return table;
}

Table table_of_devices(const Timeline& timeline, const StreamOverlap& overlap) {
  using Row = DeviceConcurrency;
  const auto busy = [](std::size_t streams) { return [streams](const Row& row) { return row.busy_ns[streams]; }; };
  const auto share = [](std::size_t streams) {
    return [streams](const Row& row) { return common::share(row.busy_ns[streams], row.total_ns()); };
  };
  ColumnsOf<Row> columns;
  add_device_keys(columns, timeline, &Row::device);
  columns.count("Streams", &Row::streams);
  columns.time("Time", &Row::total_ns).if_room(2);
  constexpr const char* kTitles[] = {"No stream", "1 stream", "2 streams", "3 streams or more"};
  for (std::size_t streams = 0; streams < std::size(kTitles); ++streams) {
    columns.time(kTitles[streams], busy(streams)).if_room(streams == 0 ? 1 : 0);
    columns.percent(std::string(kTitles[streams]) + " share", share(streams)).if_room(3);
  }
  columns.count("Most at once", &Row::most).if_room(4);
  return columns.table_of(overlap.devices);
}

Table table_of_pairs(const Timeline& timeline, const StreamOverlap& overlap) {
  struct Row {
    const StreamPair& pair;
    std::int64_t shorter_ns;  // busy time of the one that worked less
  };
  std::unordered_map<std::uint32_t, std::int64_t> busy_ns;
  for (const StreamConcurrency& stream : overlap.streams) busy_ns[stream.stream] = stream.busy_ns;
  ColumnsOf<Row> columns;
  add_device_keys(columns, timeline, [&](const Row& row) { return device_of(timeline, row.pair.first); });
  columns.text("Stream", [&](const Row& row) { return stream_label(timeline, row.pair.first); }).naming_rows();
  columns.text("Other stream", [&](const Row& row) { return stream_label(timeline, row.pair.second); });
  columns.time("Overlap", [](const Row& row) { return row.pair.overlap_ns; });
  columns.percent("Of the shorter", [](const Row& row) { return common::share(row.pair.overlap_ns, row.shorter_ns); });
  Table table = columns.table();
  for (const StreamPair& pair : overlap.pairs)
    columns.add_row(table, {pair, std::min(busy_ns[pair.first], busy_ns[pair.second])});
  if (overlap.pairs.empty()) table.note("streams: no two streams of a device were busy at the same time");
  return table;
}

}  // namespace

Result<Table> make_streams(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const StreamOverlap overlap = analysis::stream_overlap(timeline);
  Table table = options.is(kSummary) ? table_of_devices(timeline, overlap)
                : options.instances  ? table_of_pairs(timeline, overlap)
                                     : table_of_streams(timeline, overlap);
  for (const DeviceConcurrency& device : overlap.devices)
    if (!device.pairs_known)
      table.note("streams: device " + std::to_string(timeline.devices[device.device].id) + " has " +
                 std::to_string(device.streams) + " streams, too many for pairs of them");
  return table;
}

}  // namespace rangefinder::report
