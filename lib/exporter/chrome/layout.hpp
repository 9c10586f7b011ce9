// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/track_table.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace rangefinder::chrome {

/// Rows that belong to another row and stand beside it.
enum class Beside : std::uint8_t {
  kWaits,      ///< of a stream: waits recorded by CUPTI
  kRanges,     ///< of a stream: ranges with all inside them, one row a nesting depth
  kOwnRanges,  ///< of a stream: ranges without those inside them, where they cut something on the stream's own row
  kStartEnd,   ///< of a thread: ranges that need not nest
};

struct ProcessLabel {
  std::int64_t pid = 0;
  std::string_view name;
  std::string_view host;
  std::int32_t rank = -1;
};

/// Which rows there are, in torch.profiler's arrangement: a heading a process with its threads, a heading a device with
/// its streams.
class Layout {
 public:
  /// `simulated`: devices say so. `many`: several processes, whose headings name rank and host.
  Layout(TrackTable& table, bool simulated, bool many) noexcept : table_(table), simulated_(simulated), many_(many) {}

  GroupId process(const ProcessLabel& process);
  /// `join`: a heading that has the device's number already is the device's, too (imports name their rows so).
  GroupId device(std::uint32_t id, const ProcessLabel& process, bool join = false);
  TrackId thread(GroupId process, std::int64_t tid, std::string_view name);
  /// Contexts of one device have streams of equal numbers; the later ones get numbers of their own.
  TrackId stream(GroupId device, std::uint32_t context, std::int64_t id, std::uint32_t green_context,
                 bool join = false);
  TrackId beside(TrackId track, Beside what, std::uint32_t number = 0);
  /// Waits for a whole device or context, or for what the input does not say.
  TrackId waits(GroupId group);
  TrackId steps(GroupId process);
  /// What a device's sensors said.
  TrackId sensors(GroupId device);
  /// Series of a device's counters.
  TrackId counters(GroupId device);
  /// Calls of CUDA's own that allocate and free, of a device or, where none is known, of a process.
  TrackId allocations(GroupId group);
  /// Kineto's own place for the profiler's overhead where no thread is known.
  TrackId overheads();

  TrackTable& table() noexcept { return table_; }
  /// Headings and names of rows; once all are known.
  void describe(EventWriter& writer, std::int64_t time_ns) const;

 private:
  std::string heading(const ProcessLabel& process) const;
  TrackId lazily(std::uint32_t owner, int what, std::uint32_t number, GroupId group, std::string_view name,
                 std::int64_t sort_index);

  TrackTable& table_;
  std::map<std::tuple<std::uint32_t, int, std::uint32_t>, TrackId> made_;
  bool simulated_;
  bool many_;
};

}  // namespace rangefinder::chrome
