// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/activity_arguments.hpp"
#include "exporter/chrome/capture_export.hpp"
#include "exporter/chrome/device_row.hpp"
#include "exporter/chrome/launch_table.hpp"
#include "projection/streaming.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace rangefinder::chrome {

/// The devices of a capture, as far as it knows them.
std::vector<DeviceInfo> devices_of(const capture::CaptureReader& reader);

/// Writes what devices did, as it comes by in order of time, and the ranges on them as they are complete.
class CaptureDevices final : public projection::ProjectionSink {
 public:
  CaptureDevices(CaptureExport& shared, LaunchTable& launches);
  /// Before anything else; the projector tells this of ranges.
  void set_projector(projection::StreamingProjector& projector) noexcept { projector_ = &projector; }

  void add_kernel(const format::KernelRow& row, std::int64_t begin_ns, std::int64_t end_ns);
  void add_memcpy(const format::MemcpyRow& row, std::int64_t begin_ns, std::int64_t end_ns);
  void add_graph_launch(const format::GraphLaunchRow& row, std::int64_t begin_ns, std::int64_t end_ns);
  void add_memset(const format::MemsetRow& row, std::int64_t begin_ns, std::int64_t end_ns);
  void add_sync(const format::SyncRow& row, std::int64_t begin_ns, std::int64_t end_ns);
  void add_sample(const format::DeviceSampleRow& row, std::int64_t time_ns);
  void add_allocation(const format::AllocationRow& row, std::int64_t time_ns);
  /// All rows that begin before `device_ns` have come.
  void on_time(std::int64_t device_ns);
  void on_projected(const projection::ProjectedRange& range) override;
  /// The heading of a device.
  GroupId group_of(std::uint32_t id) { return groups_[device_of(id)]; }
  /// Behind the projector's finish().
  void finish();

 private:
  struct Activity {
    std::string_view head;
    ActivityPlace place;
    ActivityKind kind = ActivityKind::kKernel;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t bytes = 0;
    KernelDetail kernel;
    CopyDetail copy;
    TrackId track = kNoTrack;
  };
  struct Stream {
    TrackId track = kNoTrack;
    std::uint32_t device = 0;
    DeviceRow row;
    EndToEnd waits;
    EndToEnd start_end;
  };
  struct Span {
    std::uint64_t range = 0;
    std::uint32_t name = 0;
    projection::StreamingStream figures;
  };
  /// What begins together: ranges, and the activity that is their first. Written when all of the ranges are complete,
  /// outer ones first and the activity last, so that readers take them for inside each other as they are.
  struct Held {
    std::optional<Activity> activity;
    std::vector<Span> spans;  // innermost first
    std::size_t missing = 0;
  };
  struct Begun {
    std::uint32_t stream;
    std::uint64_t held;  // number
  };

  std::uint32_t device_of(std::uint32_t id);
  std::uint32_t stream_of(std::uint32_t device, std::uint32_t context, std::uint32_t id);
  template <typename Row>
  Activity common(const Row& row, ActivityKind kind, std::int64_t begin_ns, std::int64_t end_ns);
  void add(std::uint32_t stream, std::uint32_t correlation, Activity activity);
  void write(const Activity& activity);
  void begin_ranges(std::uint32_t stream, std::uint64_t innermost, std::uint32_t level, const Activity* activity);
  void place_on_row(const Span& span);
  void place_beside(const Span& span);
  void write(Held& held);
  void write(const Span& span, TrackId track);
  /// Heads of copies and sets, which have no names of their own.
  std::string_view made_head(Category category, const std::string& name);

  CaptureExport& shared_;
  LaunchTable& launches_;
  projection::StreamingProjector* projector_ = nullptr;
  std::deque<DeviceInfo> devices_;  // activities point to them
  std::vector<GroupId> groups_;
  std::map<std::uint32_t, std::uint32_t> device_index_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> stream_index_;
  std::map<std::uint32_t, std::uint32_t> device_of_context_;
  std::deque<Stream> streams_;
  std::map<std::uint32_t, EndToEnd> group_waits_;
  std::map<std::string, std::string> made_heads_;
  std::map<std::uint64_t, Held> held_;
  std::uint64_t next_held_ = 0;
  std::unordered_map<std::uint64_t, std::vector<Begun>> begun_;  // by range: the streams on which it has
  struct Lingering {
    std::int64_t end_ns;
    std::uint32_t correlation;
  };
  std::deque<Lingering> lingering_;  ///< launches that may still cause more
};

}  // namespace rangefinder::chrome
