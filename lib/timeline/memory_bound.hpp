// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>

namespace rangefinder::timeline {

/// The bound on memory of one load. It is asked while tables grow, so that what does not fit is refused before it fills
/// the memory.
///
/// Counted are rows and texts as they are stored, and what a report or an export of them needs on top. Tests measure
/// that a report of each kind of trace and capture stays below the sum.
class MemoryBound {
 public:
  explicit MemoryBound(const LoadOptions& options) noexcept
      : most_bytes_(options.max_memory_bytes != 0 ? options.max_memory_bytes : default_max_memory()),
        is_for_export_(options.keep_arguments) {}

  /// What a loader holds beside the tables.
  struct Besides {
    std::uint64_t row_bytes = 0;
    std::uint64_t text_bytes = 0;
  };

  /// kTooLarge where the tables have outgrown the bound; without the name of the file.
  Status check(const Timeline& timeline, Besides besides) const;
  Status check(const Timeline& timeline) const { return check(timeline, Besides()); }

  /// The sum.
  std::uint64_t needed_bytes(const Timeline& timeline, Besides besides) const noexcept;

  // Reserves of columns, joins, a projection, and what is added up of it.
  static constexpr std::uint64_t kReportPerRowByte = 4;
  /// Of calls, launches and activities: a report joins and sorts them, and keeps no row of each.
  static constexpr std::uint64_t kReportPerLaunchByte = 3;
  static constexpr std::uint64_t kExportPerRowByte = 2;
  /// A name can be a row of a report. The texts themselves are there once.
  static constexpr std::uint64_t kReportPerText = 1000;
  /// An export has the beginnings of events made of names, on the host's rows and on the device's. What it keeps of
  /// events is there once.
  static constexpr std::uint64_t kExportPerTextByte = 3;
  static constexpr std::uint64_t kExportPerText = 100;

 private:
  std::uint64_t most_bytes_;
  bool is_for_export_;
};

}  // namespace rangefinder::timeline
