// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/activity_arguments.hpp"
#include "exporter/chrome/capture_devices.hpp"
#include "exporter/chrome/capture_host.hpp"
#include "exporter/chrome/device_row.hpp"
#include "exporter/chrome/device_window.hpp"
#include "exporter/chrome/launch_table.hpp"
#include "projection/flat_map.hpp"

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::chrome {

/// Writes the activities of a capture, window by window, and the ranges on the device once nothing more can come of
/// them.
class CaptureActivities {
 public:
  CaptureActivities(CaptureExport& shared, CaptureDevices& devices, CaptureHost& host, LaunchTable& launches)
      : shared_(shared), devices_(devices), host_(host), launches_(launches) {}

  void take(const DeviceWindow& window);
  /// Behind the last window.
  void finish();

 private:
  struct Activity {
    std::string_view head;
    ActivityPlace place;
    ActivityKind kind = ActivityKind::kKernel;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t bytes = 0;
    std::optional<KernelDetail> kernel;
    std::optional<CopyDetail> copy;
    std::string captured_in;
    TrackId track = kNoTrack;
  };
  /// What a range has on a stream, so far.
  struct Sum {
    StreamIndex stream;
    std::uint64_t gpu_ops = 0;
    std::int64_t gpu_sum_ns = 0;
    std::int64_t gpu_busy_ns = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    bool busy_is_exact = true;
    analysis::PassTimes passes{};
  };
  struct Span {
    std::uint64_t key = 0;
    std::string_view head;
    std::uint32_t depth = 0;
    Sum sum;
  };
  /// What begins together: ranges, and the activity that is their first. Written when all of the ranges are complete,
  /// outer ones first and the activity last, so that readers take them for inside each other as they are.
  struct Held {
    std::optional<Activity> activity;
    std::vector<Span> spans;  // innermost first
    std::size_t missing = 0;
    std::uint64_t number = 0;  // 0: the place is free
  };
  struct Begun {
    StreamIndex stream;
    std::size_t held;  // place
  };
  struct Range {
    std::uint64_t key = 0;  // 0: the place is free
    std::string_view head;
    std::uint32_t depth = 0;
    bool nests = true;
    std::vector<Sum> sums;
    std::vector<Begun> begun;  // streams on whose rows it has begun
  };
  struct Stream {
    TrackId track = kNoTrack;
    ActivityPlace place;  // what all of its activities have in common
    DeviceRow row;
    EndToEnd start_end;
    EndToEnd spans_beside;
    // Those that do not stay on the stream's own row, until all that end in a window are there.
    std::vector<Span> start_end_waiting;
    std::vector<Span> beside_waiting;
    // Rows that earlier spans took whose work is apart in time.
    std::int64_t apart_to = std::numeric_limits<std::int64_t>::min();
    std::uint32_t apart_rows = 0;
  };

  void meet_streams(const DeviceWindow& window);
  void add(const DeviceWindow& window, ActivityIndex row, const DeviceWindow::Captured* captured);
  Activity activity_of(const DeviceWindow& window, ActivityIndex row, const DeviceWindow::Captured* captured);
  void begin_ranges(const DeviceWindow& window, StreamIndex stream, RangeIndex innermost, std::uint32_t level,
                    Activity* activity);
  void add_sums(const DeviceWindow& window);
  /// Those of which later windows know nothing; null: all.
  void finish_ranges(const DeviceWindow* window);
  void finish_range(const Range& range);
  Range& range_at(std::uint64_t key);
  std::size_t hold();
  void release(std::size_t held);
  void place_on_row(const Span& span);
  void place_waiting(Stream& stream);
  void place_end_to_end(Stream& stream, Beside beside, std::vector<Span>& spans, EndToEnd& rows);
  void place_apart(Stream& stream);
  void write(const Activity& activity);
  void write(Held& held);
  void write(const Span& span, TrackId track);

  CaptureExport& shared_;
  CaptureDevices& devices_;
  CaptureHost& host_;
  LaunchTable& launches_;

  std::vector<Stream> streams_;
  KernelTexts kernel_texts_;
  // What is done keeps its memory for what comes.
  std::vector<Range> ranges_;
  std::vector<std::uint32_t> free_ranges_;
  projection::FlatMap range_places_;                          // in ranges_, by key
  std::set<std::pair<std::uint64_t, StreamIndex>> too_deep_;  // keys of those that are not shown, each counted once
  std::deque<Held> held_;
  std::uint64_t last_held_ = 0;
  std::vector<std::size_t> free_held_;
  bool has_passes_ = false;
  bool is_apart_ = false;  // as DeviceWindow has it, of any
};

}  // namespace rangefinder::chrome
