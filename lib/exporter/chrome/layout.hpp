// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/track_table.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::chrome {

/// Rows that belong to another row and stand beside it.
enum class Beside : std::uint8_t {
  kWaits,     ///< of a stream: waits recorded by CUPTI
  kRanges,    ///< of a stream: ranges that would cut something on the stream's own row
  kStartEnd,  ///< of a thread, or of a stream: ranges that need not nest
};

struct ProcessLabel {
  std::int64_t pid = 0;
  std::string_view name;
  std::string_view host;
  std::int32_t rank = -1;
};

/// What headings must tell apart.
struct HeadingFacts {
  bool simulated = false;  ///< devices say so
  bool processes = false;  ///< several: headings begin with the rank, or else the process
  bool hosts = false;      ///< several
};

/// Which rows there are, in torch.profiler's arrangement: a heading a process with its threads, a heading a device with
/// its streams.
class Layout {
 public:
  Layout(TrackTable& table, const HeadingFacts& facts) noexcept : table_(table), facts_(facts) {}

  GroupId process(const ProcessLabel& process);
  GroupId device(std::uint32_t id, std::string_view name, const ProcessLabel& process);
  TrackId thread(GroupId process, std::int64_t tid, std::string_view name);
  /// The thread that has its process' number; `otherwise` where it has no row.
  TrackId main_thread(GroupId process, TrackId otherwise) const;
  /// Contexts of one device have streams of equal numbers; the later ones get numbers of their own.
  TrackId stream(GroupId device, std::uint32_t context, std::int64_t id, std::uint32_t green_context,
                 bool join = false);
  TrackId beside(TrackId track, Beside what);
  /// Waits for a whole device or context, or for what the input does not say.
  TrackId waits(GroupId group);
  TrackId steps(GroupId process);
  /// When the recording was on, of one with several windows.
  TrackId windows(GroupId process);
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
  std::string heading(const ProcessLabel& process, const std::string& name) const;
  TrackId lazily(std::uint32_t owner, int what, GroupId group, std::optional<std::int64_t> tid, std::string_view name,
                 std::int64_t sort_index);

  TrackTable& table_;
  HeadingFacts facts_;
  std::map<std::pair<std::uint32_t, int>, TrackId> made_;
};

}  // namespace rangefinder::chrome
