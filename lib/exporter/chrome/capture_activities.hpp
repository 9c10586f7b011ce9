// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/activity_arguments.hpp"
#include "exporter/chrome/capture_devices.hpp"
#include "exporter/chrome/capture_host.hpp"
#include "exporter/chrome/device_row.hpp"
#include "exporter/chrome/device_window.hpp"
#include "exporter/chrome/launch_table.hpp"
#include "exporter/chrome/mostly_one.hpp"
#include "projection/flat_map.hpp"

#include <cstdint>
#include <limits>
#include <memory>
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

  /// In order.
  void take(DeviceWindow window);
  /// Behind the last window.
  void finish();

 private:
  /// Refers to the window that it is of.
  struct Activity {
    std::string_view head;
    ActivityPlace place;
    ActivityKind kind = ActivityKind::kKernel;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t bytes = 0;
    const KernelDetail* kernel = nullptr;
    const CopyDetail* copy = nullptr;
    TrackId track = kNoTrack;
  };
  /// Of a window that is gone.
  struct EarlierActivity {
    explicit EarlierActivity(const Activity& of_window);
    EarlierActivity(const EarlierActivity&) = delete;
    EarlierActivity& operator=(const EarlierActivity&) = delete;

    Activity activity;  // refers to the others
    std::optional<KernelDetail> kernel;
    std::optional<CopyDetail> copy;
    std::string captured_in;
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
    ActivityIndex row{kNone};                  // of the window at hand; kNone: none of its activities
    std::uint32_t missing = 0;                 // ranges
    std::uint64_t number = 0;                  // 0: the place is free
    std::unique_ptr<EarlierActivity> earlier;  // null: none
    std::vector<Span> spans;                   // innermost first
  };
  struct Begun {
    StreamIndex stream;
    std::uint32_t held = 0;  // place
  };
  struct Range {
    std::string_view head;
    std::uint32_t depth = 0;
    bool nests = true;
    bool is_earlier = false;  // in earlier_places_
    MostlyOne<Sum> sums;
    MostlyOne<Begun> begun;  // streams on whose rows it has begun
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

  void meet_streams();
  void add(ActivityIndex row, const DeviceWindow::Captured* captured);
  Activity activity_of(ActivityIndex row) const;
  /// What begins with an activity waits for its ranges; kNone: none does.
  std::uint32_t begin_ranges(StreamIndex stream, RangeIndex innermost);
  void add_sums();
  /// Those that `next`, the window behind the one at hand, does not keep; null: all.
  void finish_ranges(const DeviceWindow* next);
  void finish_range(std::uint64_t key, Range& range);
  void keep_activities();
  Range& range_at(RangeIndex row);
  std::uint32_t new_range(std::uint64_t key);
  std::uint32_t hold();
  void release(std::uint32_t held);
  void place_on_row(const Span& span);
  void place_waiting(Stream& stream);
  void place_end_to_end(Stream& stream, Beside beside, std::vector<Span>& spans, EndToEnd& rows);
  void place_apart(Stream& stream);
  void write(const Activity& activity);
  void write(const Held& held);
  void write(const Span& span, TrackId track);

  CaptureExport& shared_;
  CaptureDevices& devices_;
  CaptureHost& host_;
  LaunchTable& launches_;

  DeviceWindow window_;  // the one at hand, until the next one comes
  std::vector<Stream> streams_;
  KernelTexts kernel_texts_;
  // What is done keeps its memory for what comes.
  std::vector<Range> ranges_;
  std::vector<std::uint64_t> range_keys_;  // 0: the place is free
  std::vector<std::uint32_t> free_ranges_;
  std::vector<std::uint32_t> place_of_row_;                   // in ranges_, by row of the window; kNone: not looked for
  projection::FlatMap earlier_places_;                        // in ranges_, by key, of ranges of earlier windows
  std::set<std::pair<std::uint64_t, StreamIndex>> too_deep_;  // keys of those that are not shown, each counted once
  std::vector<Held> held_;
  std::uint64_t last_held_ = 0;
  std::vector<std::uint32_t> free_held_;
  std::vector<RangeIndex> around_;  // the activity at hand
  bool has_passes_ = false;
  bool is_apart_ = false;  // as DeviceWindow has it, of any
};

}  // namespace rangefinder::chrome
