// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_feed.hpp"

#include "base/file.hpp"
#include "base/left_out_domains.hpp"
#include "base/text.hpp"
#include "exporter/chrome/capture_devices.hpp"
#include "exporter/chrome/capture_facts.hpp"
#include "exporter/chrome/capture_host.hpp"
#include "exporter/chrome/capture_sweep.hpp"
#include "exporter/chrome/clean_json.hpp"
#include "exporter/chrome/document.hpp"
#include "exporter/chrome/markers.hpp"
#include "exporter/chrome/sample_events.hpp"
#include "timeline/activity_names.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace rangefinder::chrome {
namespace {

using capture::CaptureReader;

// An activity runs later than this after its launch only where the device is stuck. From then on a launch is taken to
// have caused what has come.
constexpr std::int64_t kSettleNs = 60'000'000'000;

std::int32_t number_of(std::string_view text) noexcept {
  std::int32_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string hexadecimal(const format::CaptureId& id) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const std::uint8_t byte : id) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

DocumentFacts facts_of(const CaptureReader& reader) {
  DocumentFacts facts;
  facts.devices = devices_of(reader);
  facts.members.emplace_back("trace_id", quoted(hexadecimal(reader.header().capture_id)));
  JsonMembers recorded;
  for (const auto& [key, value] : reader.metadata()) recorded.emplace_back(key, quoted(value));
  add_capture_facts(facts, recorded);
  facts.rank = number_of(reader.metadata("rank"));
  facts.world_size = number_of(reader.metadata("world_size"));
  facts.trace_name = base::file_name(reader.path());
  facts.simulated = reader.simulated();
  return facts;
}

/// Times as the reader converts them; the same that a loaded timeline has.
std::vector<Window> windows_of(const CaptureReader& reader, std::int64_t last_ns) {
  std::vector<Window> windows;
  for (const format::WindowRow& row : reader.windows()) {
    const std::int64_t begin = reader.monotonic_of_ticks(row.begin_ticks);
    windows.push_back(
        {begin, row.end_ticks != 0 ? reader.monotonic_of_ticks(row.end_ticks) : std::max(begin, last_ns)});
  }
  return windows;
}

/// Hands the events of a sweep to those who write them.
class CaptureFeed final : public SweepSink {
 public:
  CaptureFeed(CaptureExport& shared, bool with_devices)
      : shared_(shared),
        flows_(shared.writer, shared.notes),
        launches_(shared.table, flows_, shared.options.flows),
        devices_(shared, launches_),
        windows_(windows_of(shared.reader, std::numeric_limits<std::int64_t>::max())) {
    if (with_devices) {
      projection::StreamingOptions bounds;
      bounds.max_pending_launches = std::size_t{1} << 17;
      bounds.windows = windows_;
      bounds.clock_error_ns = shared.reader.clock().error_bound_ns();
      projector_.emplace(devices_, bounds);
      devices_.set_projector(*projector_);
    }
    host_.emplace(shared, projector_ ? &*projector_ : nullptr, &launches_, flows_);
    assembler_.emplace(*host_);
  }

  void on_host_events(const format::HostEvents& events) override { assembler_->feed(events); }
  void on_time(std::int64_t host_ns, std::int64_t device_ns) override {
    host_->place_slices(host_ns, device_ns);
    devices_.on_time(device_ns);
    if (device_ns - kSettleNs <= settled_ns_ + kSettleNs / 8) return;
    settled_ns_ = device_ns - kSettleNs;
    projector_->settle(settled_ns_);
  }
  void on_kernel(const format::KernelRow& row, std::int64_t b, std::int64_t e) override {
    devices_.add_kernel(row, b, e);
  }
  void on_memcpy(const format::MemcpyRow& row, std::int64_t b, std::int64_t e) override {
    devices_.add_memcpy(row, b, e);
  }
  void on_memset(const format::MemsetRow& row, std::int64_t b, std::int64_t e) override {
    devices_.add_memset(row, b, e);
  }
  void on_graph_launch(const format::GraphLaunchRow& row, std::int64_t b, std::int64_t e) override {
    devices_.add_graph_launch(row, b, e);
  }
  void on_sync(const format::SyncRow& row, std::int64_t b, std::int64_t e) override { devices_.add_sync(row, b, e); }

  void on_api_call(const format::ApiRow& row, std::int64_t begin_ns, std::int64_t end_ns) override {
    shared_.extend(begin_ns, end_ns);
    projector_->call(row.correlation, begin_ns);
    if (!shared_.options.api_calls) return;
    launches_.expect_call(row.correlation);
    const bool runtime = row.domain == static_cast<std::uint32_t>(format::ApiDomain::kRuntime);
    host_->add_slice(row.tid, {shared_.head(runtime ? Category::kRuntime : Category::kDriver, row.name), begin_ns,
                               std::max(begin_ns, end_ns), true, row.correlation, row.callback_id,
                               static_cast<std::int32_t>(row.result)});
  }

  void on_overhead(const format::OverheadRow& row, std::int64_t begin_ns, std::int64_t end_ns) override {
    add_overhead(timeline::overhead_name(row.kind), row.tid, begin_ns, end_ns);
  }
  void on_jit(const format::JitRow& row, std::int64_t begin_ns, std::int64_t end_ns) override {
    add_overhead(timeline::jit_name(row.entry, row.operation), row.tid, begin_ns, end_ns);
  }
  void on_allocation(const format::AllocationRow& row, std::int64_t time_ns) override {
    devices_.add_allocation(row, time_ns);
  }

  /// Of all the capture, before it is swept: few, and in no order with the rest.
  void write_samples() {
    Samples samples(*this);
    for (const capture::ChunkEntry& entry : shared_.reader.chunks()) {
      if (static_cast<format::ChunkKind>(entry.header.kind) == format::ChunkKind::kDeviceSamples)
        shared_.reader.visit_one(entry, samples);
    }
  }

  void finish() {
    std::uint64_t end_ticks = host_->last_ticks();
    for (const format::WindowRow& row : shared_.reader.windows())
      end_ticks = std::max({end_ticks, row.begin_ticks, row.end_ticks});
    assembler_->finish(end_ticks);
    host_->finish();
    if (projector_) projector_->finish();
    devices_.finish();
    launches_.finish();
  }

  const Account* account() const noexcept { return projector_ ? &projector_->account() : nullptr; }
  const projection::StreamingCounts* counts() const noexcept { return projector_ ? &projector_->counts() : nullptr; }
  const CaptureHealth& health() const noexcept { return assembler_->health(); }
  GroupId device(std::uint32_t id) { return devices_.group_of(id); }
  TrackId first_track() const noexcept { return host_->first_track(); }

 private:
  class Samples final : public capture::CaptureVisitor {
   public:
    explicit Samples(CaptureFeed& feed) : feed_(feed) {}
    void on_device_samples(std::span<const format::DeviceSampleRow> rows) override {
      for (const format::DeviceSampleRow& row : rows)
        feed_.devices_.add_sample(row, feed_.shared_.reader.monotonic_of_realtime(row.time_ns));
    }

   private:
    CaptureFeed& feed_;
  };

  void add_overhead(std::string_view name, std::uint32_t tid, std::int64_t begin_ns, std::int64_t end_ns) {
    shared_.extend(begin_ns, end_ns);
    if (!shared_.options.overheads) return;
    const std::string_view head = overhead_head(name);
    if (tid != 0) return host_->add_slice(tid, {head, begin_ns, std::max(begin_ns, end_ns)});
    if (!shared_.in_window(begin_ns, end_ns)) return;
    const std::uint32_t level = overheads_.add(begin_ns, end_ns);
    if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
    shared_.writer.open_slice(head, shared_.ids(shared_.table.overflow(shared_.layout.overheads(), level)), begin_ns,
                              end_ns);
    shared_.writer.close();
  }

  /// By names that live as long as the process.
  std::string_view overhead_head(std::string_view name) {
    const auto [found, added] = overhead_heads_.try_emplace(name);
    if (added) append_head(found->second, 'X', to_string(Category::kOverhead), name);
    return found->second;
  }

  CaptureExport& shared_;
  FlowWriter flows_;
  LaunchTable launches_;
  CaptureDevices devices_;
  std::vector<Window> windows_;
  std::optional<projection::StreamingProjector> projector_;
  std::optional<CaptureHost> host_;
  std::optional<importer::HostAssembler> assembler_;
  Rows<NestedRow> overheads_;
  std::map<std::string_view, std::string> overhead_heads_;
  std::int64_t settled_ns_ = std::numeric_limits<std::int64_t>::min() / 2;
};

/// The samples of devices' counters, behind all else: few, and no reader minds their place.
class SampleFeed final : public capture::CaptureVisitor {
 public:
  SampleFeed(CaptureExport& shared, CaptureFeed& feed)
      : shared_(shared), feed_(feed), events_(shared.writer, shared.table, shared.options) {}

  void on_metric_samples(std::span<const format::MetricSampleRow> rows) override {
    for (const format::MetricSampleRow& row : rows) {
      const double value = format::decoded_number(row.value);
      const std::int64_t begin = shared_.reader.monotonic_of_realtime(row.begin_ns);
      const std::int64_t end = shared_.reader.monotonic_of_realtime(row.end_ns);
      if (!std::isfinite(value) || end <= begin) continue;
      shared_.extend(begin, end);
      events_.write(shared_.layout.counters(feed_.device(row.device)), shared_.text(row.metric), begin, end, value);
    }
  }
  void write() {
    const auto has_samples = [](const capture::ChunkEntry& chunk) {
      return static_cast<format::ChunkKind>(chunk.header.kind) == format::ChunkKind::kMetricSamples;
    };
    const auto& chunks = shared_.reader.chunks();
    if (std::none_of(chunks.begin(), chunks.end(), has_samples)) return;
    (void)shared_.reader.visit(*this);
    events_.finish();
  }

 private:
  CaptureExport& shared_;
  CaptureFeed& feed_;
  SampleEvents events_;
};

std::vector<std::string> notes_of(const CaptureReader& reader, const CaptureFeed& feed) {
  std::vector<std::string> notes;
  if (std::string end = reader.end_note(); !end.empty()) notes.push_back(std::move(end));
  const std::string_view device = reader.metadata("device_state");
  if (!device.empty() && device != "full") notes.push_back("device activity was not recorded: " + std::string(device));
  if (const std::string_view sensors = reader.metadata("nvml_state"); !sensors.empty() && sensors != "full")
    notes.push_back("sensors of devices were not sampled: " + std::string(sensors));
  if (const std::string_view events = reader.metadata("cpu_counters"); !events.empty() && events != "full")
    notes.push_back("CPU counters: " + std::string(events));
  base::LeftOutDomains left_out;
  left_out.add(reader.metadata());
  if (!left_out.empty()) notes.push_back("NVTX domains left out on request: " + left_out.text());
  if (reader.clock().realtime_steps() != 0)
    notes.emplace_back("the system's clock was set during the recording; device times near that moment may be off");
  if (const std::string_view cupti = reader.metadata("cupti_notes"); !cupti.empty()) notes.emplace_back(cupti);
  for (const capture::Finding& finding : reader.findings()) notes.push_back(finding.text);
  const projection::StreamingCounts* const counts = feed.counts();
  if (counts == nullptr) return notes;
  const auto note = [&](std::uint64_t count, std::string_view text) {
    if (count != 0) notes.push_back(base::with_thousands(count) + " " + std::string(text));
  };
  note(counts->abandoned_launches, "launches whose activities never came");
  note(counts->evicted_ranges, "ranges put on the device's rows before all their activities had come");
  note(counts->late_activities + counts->evicted_activities + counts->late_ranges + counts->late_launches,
       "activities and launches came too late to be put on their ranges");
  return notes;
}

void write_frame(CaptureExport& shared, const CaptureFeed& feed, const CaptureHealth& health) {
  const bool any = shared.first_ns <= shared.last_ns;
  const std::int64_t first = any ? shared.first_ns : shared.reader.header().start_monotonic_ns;
  const std::int64_t last = any ? shared.last_ns : first;
  write_windows(shared.writer, shared.layout, shared.process, windows_of(shared.reader, last));
  if (const TrackId track = shared.layout.main_thread(shared.process, feed.first_track()); track != kNoTrack)
    write_health_mark(shared.writer, shared.ids(track), last, health, shared.simulated);
  shared.layout.describe(shared.writer, first);
}

}  // namespace

std::uint64_t write_capture(CaptureReader& reader, const ChromeExportOptions& options, TextOutput& out,
                            ExportNotes& notes, const Progress& progress) {
  const std::int64_t start = reader.header().start_monotonic_ns;
  const TimeBase base = TimeBase::with_wall_clock(start, start, reader.clock().realtime_offset_ns(), std::nullopt);
  const DocumentFacts facts = facts_of(reader);
  write_document_begin(out, facts, base, notes);
  EventWriter writer(out, base);
  CaptureExport shared(reader, options, writer, notes);
  CaptureSweep sweep(reader);
  CaptureFeed feed(shared, sweep.has_device_rows());
  feed.write_samples();
  sweep.run(feed, progress);
  feed.finish();
  SampleFeed(shared, feed).write();
  notes.add(ExportNotes::kLateRow, sweep.late_rows());

  DocumentEnd end;
  end.health = reader.health();
  end.health += feed.health();
  end.health.lost_names += shared.lost_names;
  end.notes = notes_of(reader, feed);
  end.clock_error_ns = reader.clock().error_bound_ns();
  end.account = feed.account();
  write_frame(shared, feed, end.health);
  write_document_end(out, facts, end, notes);
  return writer.events();
}

}  // namespace rangefinder::chrome
