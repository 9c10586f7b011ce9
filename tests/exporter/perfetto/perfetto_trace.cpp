// SPDX-License-Identifier: MIT
#include "exporter/perfetto/perfetto_trace.hpp"

#include "exporter/perfetto/fields.hpp"
#include "exporter/perfetto/perfetto_reader.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rangefinder::testing {

namespace pf = rangefinder::perfetto;

std::string PerfettoReader::row_of(std::uint64_t uuid) const {
  const auto found = tracks_.find(uuid);
  REQUIRE(found != tracks_.end());
  const auto parent = tracks_.find(found->second.parent);
  return (parent != tracks_.end() ? parent->second.name + " / " : "") + found->second.name;
}

/// Some readers take the numbers of packets for times: they too find a begin for each end.
void PerfettoReader::require_begins_first() const {
  std::map<std::uint64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  for (const TimedEvent& event : events_)
    if (!event.is_stage) tracks[event.track].emplace_back(event.number, event.type);
  for (auto& [track, events] : tracks) {
    std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t open = 0;
    for (const auto& [number, type] : events) {
      open += type == pf::track_event::kSliceBegin ? 1 : type == pf::track_event::kSliceEnd ? -1 : 0;
      REQUIRE(open >= 0);
    }
  }
}

void PerfettoReader::pair() {
  require_begins_first();
  std::stable_sort(events_.begin(), events_.end(),
                   [](const TimedEvent& a, const TimedEvent& b) { return a.time_ns < b.time_ns; });
  std::map<std::uint64_t, std::vector<std::size_t>> open;
  for (TimedEvent& event : events_) {
    if (event.is_stage) {
      out_.slices.push_back(std::move(event.slice));
      continue;
    }
    const std::string row = row_of(event.track);
    event.slice.row = row;
    event.slice.begin_ns = event.slice.end_ns = event.time_ns;
    if (event.type == pf::track_event::kSliceBegin) {
      open[event.track].push_back(out_.slices.size());
      out_.slices.push_back(std::move(event.slice));
    } else if (event.type == pf::track_event::kSliceEnd) {
      REQUIRE_FALSE(open[event.track].empty());
      out_.slices[open[event.track].back()].end_ns = event.time_ns;
      open[event.track].pop_back();
    } else if (event.type == pf::track_event::kInstant) {
      out_.instants.push_back(std::move(event.slice));
    } else if (event.type == pf::track_event::kCounter) {
      out_.samples.push_back({tracks_.at(event.track).name, row, event.time_ns, event.value});
    } else {
      REQUIRE(event.arrow.phase != 0);
      REQUIRE((is_cut_ || !open[event.track].empty()));  // what it binds to
      event.arrow.row = row;
      event.arrow.time_ns = event.time_ns;
      out_.arrows.push_back(event.arrow);
    }
  }
  if (is_cut_) return;
  for (const auto& [track, slices] : open) CHECK(slices.empty());
}

namespace {

template <typename Input>
PerfettoTrace exported(const Input& input, const PerfettoExportOptions& options, const ScratchFolder& folder) {
  PerfettoExportReport report;
  const Status status = export_perfetto_trace(input, folder.file("x.pftrace"), options, &report);
  if (!status.ok()) FAIL(status.error().message());
  PerfettoTrace out = PerfettoTrace::parse(read_file(folder.file("x.pftrace")));
  out.report = report;
  return out;
}

}  // namespace

PerfettoTrace PerfettoTrace::parse(std::string_view bytes, bool is_cut) {
  PerfettoTrace out;
  out.bytes = bytes;
  PerfettoReader(out, is_cut).read(out.bytes);
  return out;
}

PerfettoTrace PerfettoTrace::of(const Timeline& timeline, const PerfettoExportOptions& options) {
  return exported(timeline, options, ScratchFolder());
}

PerfettoTrace PerfettoTrace::of(const CaptureBuilder& capture, const PerfettoExportOptions& options) {
  const ScratchFolder folder;
  capture.write(folder.file("x.rfcap"));
  return exported(folder.file("x.rfcap"), options, folder);
}

std::vector<PerfettoTrace::Slice> PerfettoTrace::all(std::string_view category) const {
  std::vector<Slice> out;
  std::copy_if(slices.begin(), slices.end(), std::back_inserter(out),
               [&](const Slice& slice) { return slice.category == category; });
  return out;
}

PerfettoTrace::Slice PerfettoTrace::one(std::string_view name) const {
  std::vector<Slice> found;
  std::copy_if(slices.begin(), slices.end(), std::back_inserter(found),
               [&](const Slice& slice) { return slice.name == name; });
  INFO(name);
  REQUIRE(found.size() == 1);
  return found.front();
}

}  // namespace rangefinder::testing
