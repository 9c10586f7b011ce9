// SPDX-License-Identifier: MIT
#pragma once

#include "base/id_hash.hpp"
#include "importer/kineto/event.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace rangefinder::importer::kineto {

/// Ids and names of tracks as the trace gives them, to rows of Timeline::threads, processes, devices and streams.
class Tracks {
 public:
  explicit Tracks(Timeline& timeline) noexcept : timeline_(timeline) {}

  /// The thread of a host event; made when it is first seen. Ids that are words ("Spans") get numbers of our own.
  ThreadIndex thread(const Event& event);
  /// kNone where the event names no thread: Kineto's overhead rows have -1.
  ThreadIndex thread_or_none(const Event& event);
  /// The device and stream of an activity: from its arguments, else its process and thread ids.
  StreamIndex stream(const Event& event);
  DeviceIndex device(std::int64_t id);
  StreamIndex stream(DeviceIndex device, std::uint32_t context, std::int64_t id);
  DeviceIndex device_of(const Event& event);

  /// process_name and thread_name; applied by finish(), since they may come before or after what they name.
  void name_process(const Event& event);
  void name_thread(const Event& event);

  /// Names the tracks, and says which process the file is of: the one with most API calls, and its ranges else.
  void finish();
  ProcessIndex main_process() const noexcept { return main_process_; }
  /// Processes that call the API.
  std::size_t calling_processes() const noexcept { return calling_processes_; }

 private:
  struct IdPair {
    std::int64_t first;
    std::int64_t second;
    friend bool operator==(const IdPair&, const IdPair&) = default;
  };
  struct StreamKey {
    IdPair ids;  // stream id; device and context
    friend bool operator==(const StreamKey&, const StreamKey&) = default;
  };
  struct Hash {
    std::size_t operator()(const IdPair& ids) const noexcept;
    std::size_t operator()(const StreamKey& key) const noexcept { return (*this)(key.ids); }
  };

  std::int64_t id_of(const TrackId& id);
  ThreadIndex find_or_add(IdPair ids);
  ProcessIndex process(std::int64_t pid);
  void choose_main_process();

  Timeline& timeline_;
  // The same few tracks come again and again: a small table in front of the maps.
  struct CachedThread {
    IdPair ids{0, 0};
    ThreadIndex index = kNone;
  };
  std::array<CachedThread, 16> recent_threads_;
  std::int64_t recent_device_id_ = 0;
  DeviceIndex recent_device_ = kNone;
  StreamKey recent_stream_key_{{0, 0}};
  StreamIndex recent_stream_ = kNone;

  std::unordered_map<IdPair, ThreadIndex, Hash> threads_;
  std::unordered_map<std::int64_t, ProcessIndex, base::IdHash> processes_;
  std::unordered_map<std::int64_t, DeviceIndex, base::IdHash> devices_;
  std::unordered_map<StreamKey, StreamIndex, Hash> streams_;
  std::unordered_map<std::string, std::int64_t> words_;
  std::map<std::int64_t, std::string> process_names_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> thread_names_;
  ProcessIndex main_process_{0};
  std::size_t calling_processes_ = 0;
};

}  // namespace rangefinder::importer::kineto
