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
/// before or behind their launches: windows end at a time by which all of both have come.
class Arrivals {
 public:
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  explicit Arrivals(LiveFacts& facts) : facts_(facts) {}
  /// False where the chunk cannot be unpacked.
  bool take(const format::ChunkHeader& header, base::ByteView payload);
  /// Events and activities that came since the last window.
  std::size_t fresh() const noexcept { return fresh_; }
  /// As far as all threads have come of which something came since the last window.
  std::uint64_t all_came_by() const noexcept;
  /// Gives the loader what happened until `ticks`, or kAll; the rest waits. Returns when that was, CLOCK_MONOTONIC.
  std::int64_t deliver(LiveLoader& loader, std::uint64_t ticks);

 private:
  template <typename Row>
  bool add(std::vector<Row>& to, const format::ChunkHeader& header, base::ByteView payload);
  bool add_events(const format::ChunkHeader& header, base::ByteView payload);
  void deliver_events(LiveLoader& loader, std::uint64_t ticks);
  template <typename Row, typename Use>
  void deliver_rows(std::vector<Row>& rows, std::int64_t until_ns, Use use);

  LiveFacts& facts_;
  format::ColumnReader columns_;
  std::vector<format::ThreadRow> threads_;
  std::vector<format::GraphNodeRow> graph_nodes_;
  std::vector<format::HostEvents> events_;  // in the order in which they came
  std::vector<format::KernelRow> kernels_;
  std::vector<format::MemcpyRow> memcpys_;
  std::vector<format::MemsetRow> memsets_;
  std::vector<format::GraphLaunchRow> graph_launches_;
  std::unordered_map<std::uint32_t, std::uint64_t> came_to_;  // by thread, of those that are new: ticks
  std::size_t fresh_ = 0;
  std::size_t held_ = 0;  // events that wait since the last window
};

}  // namespace rangefinder::summary
