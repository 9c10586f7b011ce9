// SPDX-License-Identifier: MIT
#pragma once

#include "report/columns.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

// Where on the host something happened, in words.
namespace rangefinder::report {

/// The thread's name, or its number; empty for kNone.
inline std::string thread_label(const Timeline& timeline, ThreadIndex thread) {
  if (thread >= timeline.threads.size()) return {};
  const ThreadInfo& info = timeline.threads[thread];
  return info.name.empty() ? std::to_string(info.tid) : info.name;
}

/// The process's rank, or its number; empty for kNone.
inline std::string process_label(const Timeline& timeline, ProcessIndex process) {
  if (process >= timeline.processes.size()) return {};
  const ProcessInfo& info = timeline.processes[process];
  return info.rank >= 0 ? "rank " + std::to_string(info.rank) : std::to_string(info.pid);
}

/// The stream's number; empty for kNone.
inline std::string stream_label(const Timeline& timeline, StreamIndex stream) {
  return stream < timeline.streams.size() ? std::to_string(timeline.streams[stream].id) : std::string();
}

/// The number of a row's device, and its process where there are several. `device_of(row)` gives a DeviceIndex.
template <typename Row, typename DeviceOf>
void add_device_keys(ColumnsOf<Row>& columns, const Timeline& timeline, DeviceOf device_of) {
  const auto info = [&timeline, device_of](const Row& row) -> const DeviceInfo& {
    return timeline.devices[std::invoke(device_of, row)];
  };
  const auto& devices = timeline.devices;
  const bool several = std::any_of(devices.begin(), devices.end(),
                                   [&](const DeviceInfo& each) { return each.process != devices.front().process; });
  columns.text("Device", [info](const Row& row) { return std::to_string(info(row).id); });
  if (several)
    columns.text("Process", [info, &timeline](const Row& row) { return process_label(timeline, info(row).process); });
}

/// The range's name; what stands for it where there is none, or where the thread is not known.
inline std::string range_label(const Timeline& timeline, RangeIndex range, ThreadIndex thread) {
  if (range < timeline.ranges.size()) return std::string(timeline.text(timeline.ranges.name[range]));
  return thread < timeline.threads.size() ? "(outside any range)" : "(thread not known)";
}

/// For an owner that is a value of Unowned.
inline std::string_view unowned_word(std::uint32_t owner) {
  switch (static_cast<Unowned>(owner)) {
    case Unowned::kOutside:
      return "(outside any range)";
    case Unowned::kBefore:
      return "(launched before the recording)";
    case Unowned::kUnknown:
      return "(launch unknown)";
  }
  return {};
}

}  // namespace rangefinder::report
