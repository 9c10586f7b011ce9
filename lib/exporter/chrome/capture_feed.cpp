// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_feed.hpp"

#include "base/file.hpp"
#include "base/left_out_domains.hpp"
#include "base/processors.hpp"
#include "base/text.hpp"
#include "exporter/chrome/capture_activities.hpp"
#include "exporter/chrome/capture_devices.hpp"
#include "exporter/chrome/capture_facts.hpp"
#include "exporter/chrome/capture_host.hpp"
#include "exporter/chrome/clean_json.hpp"
#include "exporter/chrome/document.hpp"
#include "exporter/chrome/markers.hpp"
#include "exporter/chrome/recorded_sweep.hpp"
#include "exporter/chrome/relay.hpp"
#include "exporter/chrome/sample_events.hpp"
#include "importer/capture/capture_windows.hpp"
#include "timeline/activity_names.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <variant>

namespace rangefinder::chrome {
namespace {

using capture::CaptureReader;

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
class CaptureFeed final : public importer::SweepSink {
 public:
  CaptureFeed(CaptureExport& shared, bool with_devices)
      : shared_(shared),
        flows_(shared.writer, shared.notes),
        launches_(shared.table, flows_, shared.options.flows),
        devices_(shared),
        host_(shared, with_devices ? &launches_ : nullptr, flows_) {
    if (!with_devices) assembler_.emplace(host_);
  }

  void on_host_events(const format::HostEvents& events) override {
    if (assembler_) assembler_->feed(events);  // else windows have them assembled
  }
  void on_time(std::int64_t host_ns, std::int64_t device_ns) override { host_.place_slices(host_ns, device_ns); }
  void on_row(const importer::SweptRow& row, std::int64_t begin_ns, std::int64_t end_ns) override {
    std::visit([&](const auto* each) { take(*each, begin_ns, end_ns); }, row);
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
    if (assembler_) {
      std::uint64_t end_ticks = host_.last_ticks();
      for (const format::WindowRow& row : shared_.reader.windows())
        end_ticks = std::max({end_ticks, row.begin_ticks, row.end_ticks});
      assembler_->finish(end_ticks);
    }
    host_.finish();
    launches_.finish();
  }

  CaptureDevices& devices() noexcept { return devices_; }
  CaptureHost& host() noexcept { return host_; }
  LaunchTable& launches() noexcept { return launches_; }
  /// Of host events that this assembled itself.
  CaptureHealth health() const { return assembler_ ? assembler_->health() : CaptureHealth{}; }
  TrackId first_track() const noexcept { return host_.first_track(); }

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

  // Of windows, which know their owners.
  void take(const format::KernelRow&, std::int64_t, std::int64_t) {}
  void take(const format::MemcpyRow&, std::int64_t, std::int64_t) {}
  void take(const format::MemsetRow&, std::int64_t, std::int64_t) {}
  void take(const format::GraphLaunchRow&, std::int64_t, std::int64_t) {}

  void take(const format::SyncRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
    devices_.add_sync(row, begin_ns, end_ns);
  }
  void take(const format::ApiRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
    shared_.extend(begin_ns, end_ns);
    if (!shared_.options.api_calls) return;
    launches_.expect_call(row.correlation);
    const bool runtime = row.domain == static_cast<std::uint32_t>(format::ApiDomain::kRuntime);
    host_.add_slice(row.tid, {shared_.head(runtime ? Category::kRuntime : Category::kDriver, row.name), begin_ns,
                              std::max(begin_ns, end_ns), true, row.correlation, row.callback_id,
                              static_cast<std::int32_t>(row.result)});
  }
  void take(const format::OverheadRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
    add_overhead(timeline::overhead_name(row.kind), row.tid, begin_ns, end_ns);
  }
  void take(const format::JitRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
    add_overhead(timeline::jit_name(row.entry, row.operation), row.tid, begin_ns, end_ns);
  }
  void take(const format::AllocationRow& row, std::int64_t time_ns, std::int64_t) {
    devices_.add_allocation(row, time_ns);
  }

  void add_overhead(std::string_view name, std::uint32_t tid, std::int64_t begin_ns, std::int64_t end_ns) {
    shared_.extend(begin_ns, end_ns);
    if (!shared_.options.overheads) return;
    const std::string_view head = overhead_head(name);
    if (tid != 0) return host_.add_slice(tid, {head, begin_ns, std::max(begin_ns, end_ns)});
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
  CaptureHost host_;
  std::optional<importer::HostAssembler> assembler_;  // where no windows do it
  Rows<NestedRow> overheads_;
  std::map<std::string_view, std::string> overhead_heads_;
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
      events_.write(shared_.layout.counters(feed_.devices().group_of(row.device)), shared_.text(row.metric), begin, end,
                    value);
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

std::vector<std::string> notes_of(const CaptureReader& reader) {
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

/// Reads the capture on this thread and writes it on another one, where there are two.
class CaptureRun {
 public:
  CaptureRun(CaptureExport& shared, CaptureFeed& feed, const CaptureWork& work)
      : shared_(shared),
        feed_(feed),
        window_rows_(work.window_rows),
        parts_(shared.options),
        activities_(shared, feed.devices(), feed.host(), feed.launches()) {
    if (!work.in_two_threads) return;
    relay_.emplace([this](RecordedSweep& part) {
      SweepPlayer(feed_, feed_.host()).play(part);
      if (part.window) activities_.take(std::move(*part.window));
    });
    recorder_.emplace(*relay_);
  }

  /// There is nothing but host events.
  void run_alone(importer::CaptureSweep& sweep, const Progress& progress) {
    sweep.run(sink(), progress);
    finish();
  }
  /// Device rows come in windows of time, which know whose they are.
  void run_windows(const Progress& progress, DocumentEnd& end, Account& account) {
    importer::CaptureWindows::Options options;
    options.events = window_rows_;
    options.progress = progress;
    options.also = &sink();
    options.assembled = recorder_ ? static_cast<importer::AssemblySink*>(&*recorder_) : &feed_.host();
    importer::CaptureWindows windows(shared_.reader, options);
    windows.run([&](Timeline& window, bool is_last) {
      if (is_last) end.health = window.health;
      if (recorder_)
        recorder_->add_window(parts_.take(windows, window));
      else
        activities_.take(parts_.take(windows, window));
    });
    finish();
    activities_.finish();
    account = parts_.account();
    end.account = &account;
    end.notes = notes_of(shared_.reader);
    if (windows.abandoned_launches() != 0)
      end.notes.push_back(base::with_thousands(windows.abandoned_launches()) + " launches whose activities never came");
    shared_.notes.add(ExportNotes::kLateRow, windows.late_rows());
  }

 private:
  importer::SweepSink& sink() { return recorder_ ? static_cast<importer::SweepSink&>(*recorder_) : feed_; }
  void finish() {
    if (recorder_) recorder_->hand_on();
    if (relay_) relay_->finish();
    feed_.finish();
  }

  CaptureExport& shared_;
  CaptureFeed& feed_;
  std::size_t window_rows_;
  DeviceWindows parts_;
  CaptureActivities activities_;
  std::optional<Relay<RecordedSweep>> relay_;  // behind all that its thread uses
  std::optional<SweepRecorder> recorder_;
};

}  // namespace

CaptureWork CaptureWork::of_this_machine() {
  CaptureWork work;
  work.in_two_threads = base::usable_processors() > 1;
  return work;
}

std::uint64_t write_capture(CaptureReader& reader, const ChromeExportOptions& options, TextOutput& out,
                            ExportNotes& notes, const Progress& progress, const CaptureWork& work,
                            EventTarget* target) {
  const std::int64_t start = reader.header().start_monotonic_ns;
  const TimeBase base = TimeBase::with_wall_clock(start, start, reader.clock().realtime_offset_ns(), std::nullopt);
  const DocumentFacts facts = facts_of(reader);
  if (target != nullptr)
    target->begin(facts, base, start);
  else
    write_document_begin(out, facts, base, notes);
  EventWriter writer(out, base, target);
  CaptureExport shared(reader, options, writer, notes);
  if (target != nullptr) target->use_rows(shared.table);
  DocumentEnd end;
  end.clock_error_ns = reader.clock().error_bound_ns();
  Account account;
  importer::CaptureSweep sweep(reader);
  CaptureFeed feed(shared, sweep.has_device_rows());
  feed.write_samples();
  CaptureRun run(shared, feed, work);
  if (sweep.has_device_rows()) {
    run.run_windows(progress, end, account);
  } else {
    run.run_alone(sweep, progress);
    end.health = reader.health();
    end.health += feed.health();
    end.health.lost_names += shared.lost_names;
    end.notes = notes_of(reader);
  }
  SampleFeed(shared, feed).write();
  write_frame(shared, feed, end.health);
  if (target != nullptr)
    target->end(facts, end, notes);
  else
    write_document_end(out, facts, end, notes);
  return writer.events();
}

}  // namespace rangefinder::chrome
