// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/activity_arguments.hpp"
#include "exporter/chrome/capture_export.hpp"
#include "exporter/chrome/end_to_end.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace rangefinder::chrome {

/// The devices of a capture, as far as it knows them.
std::vector<DeviceInfo> devices_of(const capture::CaptureReader& reader);

/// The devices of a capture and their rows, and what is written there one by one: waits, samples, allocations.
class CaptureDevices {
 public:
  explicit CaptureDevices(CaptureExport& shared);

  void add_sync(const format::SyncRow& row, std::int64_t begin_ns, std::int64_t end_ns);
  void add_sample(const format::DeviceSampleRow& row, std::int64_t time_ns);
  void add_allocation(const format::AllocationRow& row, std::int64_t time_ns);
  /// The heading of a device.
  GroupId group_of(std::uint32_t id) { return groups_[device_of(id)]; }
  /// What is known of a device; valid as long as this is.
  const DeviceInfo* device_info(std::uint32_t id) { return &devices_[device_of(id)]; }
  /// The row of a stream.
  TrackId track_of(std::uint32_t device, std::uint32_t context, std::int64_t id) {
    return streams_[stream_of(device, context, id)].track;
  }

 private:
  struct Stream {
    TrackId track = kNoTrack;
    EndToEnd waits;
  };

  std::uint32_t device_of(std::uint32_t id);
  std::uint32_t stream_of(std::uint32_t device, std::uint32_t context, std::int64_t id);

  CaptureExport& shared_;
  std::deque<DeviceInfo> devices_;  // activities point to them
  std::vector<GroupId> groups_;
  std::map<std::uint32_t, std::uint32_t> device_index_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::uint32_t> stream_index_;
  std::map<std::uint32_t, std::uint32_t> device_of_context_;
  std::vector<Stream> streams_;
  std::map<std::uint32_t, EndToEnd> group_waits_;
  std::map<std::uint32_t, std::string> sync_heads_;  // by type
};

}  // namespace rangefinder::chrome
