// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/track_table.hpp"

#include <rangefinder/exporters.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace rangefinder::chrome {

struct StepFacts {
  std::int64_t number = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t items = 0;  ///< 0: the program did not say
};

/// Writes steps as torch.profiler names them, and how fast each was as a counter.
class StepEvents {
 public:
  StepEvents(EventWriter& writer, const TrackTable& table, const ChromeExportOptions& options) noexcept
      : writer_(writer), table_(table), options_(options) {}

  /// `track` is where the slice lies, `steps` the row of its process' steps: one that stands beside it is its own.
  void write(const StepFacts& step, TrackId track, TrackId steps);
  /// Behind all steps.
  void finish();

 private:
  void write_rate(TrackId steps, std::int64_t time_ns, std::int64_t tenths);

  EventWriter& writer_;
  const TrackTable& table_;
  const ChromeExportOptions& options_;
  std::map<TrackId, std::int64_t> rate_ends_ns_;  ///< by row of steps: when the rate written last is over
  std::string scratch_;
};

}  // namespace rangefinder::chrome
