// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/track_table.hpp"

#include <rangefinder/exporters.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::chrome {

/// Writes samples of a device's counters as series: what is an average as it is, what is a sum by the second.
class SampleEvents {
 public:
  SampleEvents(EventWriter& writer, const TrackTable& table, const ChromeExportOptions& options) noexcept
      : writer_(writer), table_(table), options_(options) {}

  /// Samples of one device and metric come in order of time.
  void write(TrackId row, std::string_view metric, std::int64_t begin_ns, std::int64_t end_ns, double value);
  /// Behind all samples.
  void finish();

 private:
  struct Series {
    std::string name;
    std::int64_t end_ns = 0;  ///< of the sample written last
  };
  void write_value(TrackId row, const Series& series, std::int64_t time_ns, double value);

  EventWriter& writer_;
  const TrackTable& table_;
  const ChromeExportOptions& options_;
  std::map<std::pair<TrackId, std::string>, Series, std::less<>> series_;
};

}  // namespace rangefinder::chrome
