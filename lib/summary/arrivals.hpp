// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "format/chunk.hpp"
#include "format/columns.hpp"
#include "format/host_events.hpp"
#include "summary/live_facts.hpp"
#include "summary/live_loader.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace rangefinder::summary {

/// What a session has written and no window holds yet. Threads are drained one after the other, and device rows come
/// before or behind their launches: the host events of windows end at a time by which all threads have come, and their
/// activities began by then.
class Arrivals {
 public:
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  explicit Arrivals(LiveFacts& facts) : facts_(facts) {}
  /// The chunk holds activities.
  static bool is_of_device(const format::ChunkHeader& header) noexcept;
  /// False where the chunk cannot be unpacked.
  bool take(const format::ChunkHeader& header, base::ByteView payload);
  /// That came and were not delivered since.
  std::size_t fresh_events() const noexcept { return fresh_events_; }
  std::size_t fresh_activities() const noexcept { return fresh_activities_; }
  /// As far as all threads have come, but for those of which nothing has come for long.
  std::uint64_t all_came_by();
  /// How far they have come.
  void forget_threads() { came_to_.clear(); }
  /// Gives the loader all but activities, events until `ticks`, or kAll. What is later waits. Returns when that was,
  /// CLOCK_MONOTONIC.
  std::int64_t deliver_host(LiveLoader& loader, std::uint64_t ticks);
  /// All activities of the chunk began later than that.
  bool is_later(const format::ChunkHeader& header) const noexcept;
  /// Gives the loader activities that began by then.
  void deliver_device(LiveLoader& loader);
  /// The latest begin of those that were given to the loader, CLOCK_MONOTONIC.
  std::int64_t newest_activity_ns() const noexcept { return newest_activity_ns_; }

 private:
  template <typename Row>
  bool add(std::vector<Row>& to, const format::ChunkHeader& header, base::ByteView payload);
  template <typename Row>
  bool add_activities(std::vector<Row>& to, const format::ChunkHeader& header, base::ByteView payload);
  bool add_events(const format::ChunkHeader& header, base::ByteView payload);
  void deliver_events(LiveLoader& loader, std::uint64_t ticks);
  template <typename Row, typename Use>
  void deliver_rows(std::vector<Row>& rows, Use use);

  LiveFacts& facts_;
  format::ColumnReader columns_;
  std::vector<format::ThreadRow> threads_;
  std::vector<format::GraphNodeRow> graph_nodes_;
  std::vector<format::HostEvents> events_;  // in the order in which they came
  std::vector<format::KernelRow> kernels_;
  std::vector<format::MemcpyRow> memcpys_;
  std::vector<format::MemsetRow> memsets_;
  std::vector<format::GraphLaunchRow> graph_launches_;
  struct Came {
    std::uint64_t ticks;
    bool is_fresh;  // something came since host events were delivered last
  };
  std::unordered_map<std::uint32_t, Came> came_to_;  // by thread
  std::size_t fresh_events_ = 0;
  std::size_t fresh_activities_ = 0;
  std::size_t held_events_ = 0;                                       // that waited when events were delivered last
  std::int64_t until_ns_ = std::numeric_limits<std::int64_t>::min();  // activities that began by then are due
  std::int64_t newest_activity_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace rangefinder::summary
