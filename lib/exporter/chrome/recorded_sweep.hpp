// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/device_window.hpp"
#include "exporter/chrome/relay.hpp"
#include "importer/capture/assembled_event.hpp"
#include "importer/capture/capture_sweep.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace rangefinder::chrome {

template <typename Row>
struct RecordedRow {
  Row row;
  std::int64_t begin_ns, end_ns;
};
struct RecordedTime {
  std::int64_t host_ns, device_ns;
};

/// A stretch of the sweep of a capture, for another thread to write. Behind it a window may end.
struct RecordedSweep {
  using Step = std::variant<RecordedTime, format::HostEvents, importer::AssembledBegin, importer::AssembledRange,
                            importer::AssembledNotResumed, importer::AssembledLaunch, importer::AssembledMark,
                            importer::AssembledCounter, importer::AssembledValueOf, importer::AssembledOperator,
                            importer::AssembledSequence, importer::AssembledNodeBegin, importer::AssembledNode,
                            importer::AssembledMemory, importer::AssembledStep, importer::AssembledStepItems,
                            RecordedRow<format::ApiRow>, RecordedRow<format::SyncRow>, RecordedRow<format::OverheadRow>,
                            RecordedRow<format::JitRow>, RecordedRow<format::AllocationRow>>;

  std::vector<Step> steps;
  std::optional<DeviceWindow> window;
};

/// Hands on what a sweep tells, in stretches.
class SweepRecorder final : public importer::SweepSink, public importer::AssemblyEvents<SweepRecorder> {
 public:
  explicit SweepRecorder(Relay<RecordedSweep>& relay) : relay_(relay) {}

  void on_host_events(const format::HostEvents& events) override {
    add(events, events.records.size() * sizeof events.records[0]);
  }
  void on_time(std::int64_t host_ns, std::int64_t device_ns) override { add(RecordedTime{host_ns, device_ns}); }
  void on_row(const importer::SweptRow& row, std::int64_t begin_ns, std::int64_t end_ns) override {
    std::visit([&](const auto* each) { take(*each, begin_ns, end_ns); }, row);
  }
  void add_window(DeviceWindow window) {
    part_.window = std::move(window);
    bytes_ += part_.window->bytes();
    hand_on();
  }
  /// What is left.
  void hand_on() { relay_.hand_on(std::exchange(part_, {}), std::exchange(bytes_, 0)); }

  template <typename Event>
  void pass(const Event& event) {
    add(event);
  }
  // Not written.
  void pass(const importer::AssembledCpuCounts&) {}
  void pass(const importer::AssembledCollective&) {}
  void pass(const importer::AssembledCollectivePhase&) {}

 private:
  // Enough that handing on does not count, and less than an allocator takes from the system each time.
  static constexpr std::size_t kMaxBytes = std::size_t{96} << 10;

  template <typename Row>
  void take(const Row& row, std::int64_t begin_ns, std::int64_t end_ns) {
    add(RecordedRow<Row>{row, begin_ns, end_ns});
  }
  // Of windows.
  void take(const format::KernelRow&, std::int64_t, std::int64_t) {}
  void take(const format::MemcpyRow&, std::int64_t, std::int64_t) {}
  void take(const format::MemsetRow&, std::int64_t, std::int64_t) {}
  void take(const format::GraphLaunchRow&, std::int64_t, std::int64_t) {}

  template <typename Step>
  void add(const Step& step, std::size_t more_bytes = 0) {
    if (part_.steps.empty()) part_.steps.reserve(kMaxBytes / sizeof(RecordedSweep::Step));
    part_.steps.emplace_back(step);
    bytes_ += sizeof(RecordedSweep::Step) + more_bytes;
    if (bytes_ + sizeof(RecordedSweep::Step) > kMaxBytes) hand_on();
  }

  Relay<RecordedSweep>& relay_;
  RecordedSweep part_;
  std::size_t bytes_ = 0;
};

/// Tells again what was recorded, but for the window.
class SweepPlayer {
 public:
  SweepPlayer(importer::SweepSink& sink, importer::AssemblySink& assembled) noexcept
      : sink_(sink), assembled_(assembled) {}

  void play(const RecordedSweep& part) const {
    for (const RecordedSweep::Step& step : part.steps) std::visit(*this, step);
  }

  void operator()(const RecordedTime& time) const { sink_.on_time(time.host_ns, time.device_ns); }
  void operator()(const format::HostEvents& events) const { sink_.on_host_events(events); }
  template <typename Row>
  void operator()(const RecordedRow<Row>& swept) const {
    sink_.on_row(&swept.row, swept.begin_ns, swept.end_ns);
  }
  template <typename Event>
  void operator()(const Event& event) const {
    tell(assembled_, event);
  }

 private:
  importer::SweepSink& sink_;
  importer::AssemblySink& assembled_;
};

}  // namespace rangefinder::chrome
