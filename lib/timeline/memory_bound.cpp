// SPDX-License-Identifier: MIT
#include "timeline/memory_bound.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string>

namespace rangefinder {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// A file that holds a number of bytes, or "max".
std::uint64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t bytes = 0;
  return file >> bytes && bytes != 0 ? bytes : kNoLimit;
}

/// Of the control group that the process is in, and of those around it: version 2 at its place in the one hierarchy,
/// version 1 in that of `memory`. In a container only the root of either may be visible.
std::uint64_t limit_of_control_group() {
  std::uint64_t least =
      std::min(limit_in("/sys/fs/cgroup/memory.max"), limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t path_at = line.find(':', line.find(':') + 1);
    if (path_at == std::string::npos) continue;
    const bool second = line.rfind("0::", 0) == 0;
    if (!second && line.find(":memory:") == std::string::npos) continue;
    for (std::string path = line.substr(path_at + 1); path.size() > 1; path.resize(path.rfind('/')))
      least = std::min(least, limit_in(second ? "/sys/fs/cgroup" + path + "/memory.max"
                                              : "/sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes"));
  }
  return least;
}

template <typename Column>
std::uint64_t bytes_of(const Column& column) noexcept {
  return column.size() * sizeof(typename Column::value_type);
}

/// Of what every launch has a row of, in each table.
std::uint64_t launch_bytes(const Timeline& timeline) noexcept {
  return timeline.calls.memory_bytes() + timeline.launches.memory_bytes() + timeline.activities.memory_bytes();
}

/// Of all tables, without texts.
std::uint64_t row_bytes(const Timeline& timeline) noexcept {
  std::uint64_t bytes = 0;
  const auto add_tables = [&](const auto&... tables) { bytes += (tables.memory_bytes() + ...); };
  const auto add_columns = [&](const auto&... columns) { bytes += (bytes_of(columns) + ...); };
  add_tables(timeline.ranges, timeline.calls, timeline.launches, timeline.activities, timeline.syncs,
             timeline.overheads, timeline.cuda_allocations, timeline.marks, timeline.counters, timeline.steps,
             timeline.autograd_nodes, timeline.graph_nodes, timeline.operators, timeline.allocator_events,
             timeline.sensor_samples, timeline.cpu_counters, timeline.range_metrics, timeline.pm_samples,
             timeline.collectives);
  add_columns(timeline.kernel_details, timeline.copy_details, timeline.attachments, timeline.threads, timeline.streams);
  return bytes;
}

}  // namespace

std::uint64_t default_max_memory() noexcept {
  static constexpr std::uint64_t kLeast = std::uint64_t{1} << 30;
  static const std::uint64_t bound = [] {
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    std::uint64_t memory =
        pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 2 * kLeast;
    try {
      memory = std::min(memory, limit_of_control_group());
    } catch (...) {  // no memory for a path
    }
    return std::max(memory / 2, kLeast);
  }();
  return bound;
}

std::uint64_t Timeline::table_bytes() const noexcept {
  std::uint64_t bytes = row_bytes(*this) + text_bytes() + arguments.bytes();
  for (const ForeignEvent& event : foreign) bytes += sizeof event + event.json.size();
  return bytes;
}

namespace timeline {

std::uint64_t MemoryBound::needed_bytes(const Timeline& timeline, Besides besides) const noexcept {
  const std::uint64_t rows = row_bytes(timeline) + besides.row_bytes;
  const std::uint64_t kept = timeline.arguments.bytes() + besides.text_bytes;
  const std::uint64_t texts = timeline.text_bytes(), count = timeline.string_count();
  if (is_for_export_) return rows * kExportPerRowByte + kept + texts * kExportPerTextByte + count * kExportPerText;
  const std::uint64_t launches = launch_bytes(timeline);
  return (rows - launches) * kReportPerRowByte + launches * kReportPerLaunchByte + kept + texts +
         count * kReportPerText;
}

Status MemoryBound::check(const Timeline& timeline, Besides besides) const {
  const std::uint64_t bytes = needed_bytes(timeline, besides);
  if (bytes <= most_bytes_) return {};
  const auto in_mib = [](std::uint64_t count) { return std::to_string(count >> 20) + " MiB"; };
  return Error(ErrorCode::kTooLarge,
               "needs more memory than the bound of " + in_mib(most_bytes_) + ": what was read so far takes up to " +
                   in_mib(bytes) + " with " + (is_for_export_ ? "an export" : "a report") +
                   " of it; allow more (--max-memory, max_memory_bytes), read one capture of a folder at a time, or "
                   "record less (rangefinder record --duration, --until-step); export and the views ranges, tree, "
                   "kernels and memcpy of a long capture need little memory");
}

}  // namespace timeline
}  // namespace rangefinder
