// SPDX-License-Identifier: MIT
#include "importer/capture/capture_windows.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <variant>

namespace rangefinder::importer {

/// Hands the events of the sweep to the loader, and ends a window when it is full.
class CaptureWindows::Feeder final : public SweepSink {
 public:
  Feeder(CaptureWindows& windows, const std::function<void(Timeline&, bool)>& use)
      : windows_(windows),
        loader_(windows.loader_),
        also_(windows.options_.also),
        use_(use),
        has_device_rows_(windows.sweep_.has_device_rows()) {}

  void on_host_events(const format::HostEvents& events) override {
    if (also_ != nullptr) also_->on_host_events(events);
    loader_.on_host_events(events);
    // Else windows end where the sweep tells a time.
    if (!has_device_rows_ && is_full()) end_window(std::numeric_limits<std::int64_t>::min());
  }
  void on_time(std::int64_t host_ns, std::int64_t device_ns) override {
    if (is_full()) end_window(device_ns);
    if (also_ != nullptr) also_->on_time(host_ns, device_ns);
  }
  void on_row(const SweptRow& row, std::int64_t begin_ns, std::int64_t end_ns) override {
    if (also_ != nullptr) also_->on_row(row, begin_ns, end_ns);
    std::visit(
        [this, begin_ns](const auto* each) {
          loader_.know_time(times_of(*each).begin_ns, begin_ns);
          load(std::span(each, 1));
        },
        row);
  }

 private:
  void load(std::span<const format::KernelRow> rows) { loader_.on_kernels(rows); }
  void load(std::span<const format::MemcpyRow> rows) { loader_.on_memcpys(rows); }
  void load(std::span<const format::MemsetRow> rows) { loader_.on_memsets(rows); }
  void load(std::span<const format::GraphLaunchRow> rows) { loader_.on_graph_launches(rows); }
  void load(std::span<const format::ApiRow> rows) { loader_.on_api_calls(rows); }
  void load(std::span<const format::SyncRow> rows) { loader_.on_syncs(rows); }
  void load(std::span<const format::OverheadRow> rows) { loader_.on_overheads(rows); }
  void load(std::span<const format::AllocationRow> rows) { loader_.on_allocations(rows); }
  void load(std::span<const format::JitRow> rows) { loader_.on_jits(rows); }

  /// Ranges that are open are rows of every window: the more there are, the longer windows get.
  bool is_full() const noexcept {
    const std::size_t carried = loader_.carried_rows();
    const std::size_t rows = windows_.rows() - std::min(carried, windows_.rows());
    return rows >= windows_.options_.events && rows >= carried / 4;
  }
  void end_window(std::int64_t device_ns) {
    loader_.close_window();
    windows_.time_ns_ = device_ns;
    use_(windows_.timeline_, false);
    loader_.next_window(device_ns);
  }

  CaptureWindows& windows_;
  FileLoader& loader_;
  SweepSink* also_;
  const std::function<void(Timeline&, bool)>& use_;
  bool has_device_rows_;
};

CaptureWindows::CaptureWindows(capture::CaptureReader& reader, Options options)
    : options_(std::move(options)), loader_(reader, timeline_, no_shift_, load_options_), sweep_(reader) {
  timeline_.format = InputFormat::kCapture;
  timeline_.range_end = RangeEnd::kOpen;
  timeline_.sources = {reader.path()};
  timeline_.realtime_offset_ns = reader.clock().realtime_offset_ns();
  loader_.begin_windows({.launch_calls = options_.launch_calls,
                         .in_order = sweep_.has_device_rows(),
                         .known_ends = options_.known_ends,
                         .found_ends = options_.found_ends});
  if (options_.assembled == nullptr) return;
  tee_.emplace(*options_.assembled, loader_);
  loader_.assemble_into(*tee_);
}

std::size_t CaptureWindows::rows() const noexcept {
  return loader_.range_count() + timeline_.launches.size() + timeline_.calls.size() + timeline_.activities.size() +
         timeline_.marks.size() + timeline_.counters.size() + timeline_.allocator_events.size() +
         timeline_.syncs.size() + timeline_.overheads.size() + timeline_.cuda_allocations.size();
}

void CaptureWindows::run(const std::function<void(Timeline&, bool)>& use) {
  Feeder feeder(*this, use);
  sweep_.run(feeder, options_.progress);
  if (tee_) tee_->hold_back();
  loader_.close_last_window();
  time_ns_ = std::numeric_limits<std::int64_t>::max();
  use(timeline_, true);
  loader_.drop_earlier_ranges();
  if (tee_) tee_->give_out();
}

}  // namespace rangefinder::importer
