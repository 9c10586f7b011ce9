// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/document.hpp"
#include "exporter/chrome/time_base.hpp"
#include "exporter/chrome/track_table.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>

namespace rangefinder::chrome {

/// Takes the events of an export in place of EventWriter's JSON, so that another format has the same slices, rows and
/// arguments. Heads and ids are those of EventWriter; keys are bare. An event is opened, gets arguments, is closed.
///
/// Threads: one call at a time; the first and last ones on the exporting thread, those between on one other.
class EventTarget {
 public:
  virtual ~EventTarget() = default;

  /// Before all events. `first_ns`: none of them is much earlier.
  virtual void begin(const DocumentFacts& facts, const TimeBase& base, std::int64_t first_ns) = 0;
  /// What ids mean; grows while events come.
  virtual void use_rows(const TrackTable& rows) = 0;
  /// Behind all events.
  virtual void end(const DocumentFacts& facts, const DocumentEnd& end, const ExportNotes& export_notes) = 0;

  virtual void open_slice(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns) = 0;
  virtual void open_point(std::string_view head, std::string_view ids, std::int64_t time_ns) = 0;
  virtual void close() = 0;

  virtual void argument(std::string_view key, std::uint64_t value) = 0;
  virtual void signed_argument(std::string_view key, std::int64_t value) = 0;
  virtual void double_argument(std::string_view key, double value) = 0;
  virtual void time_argument(std::string_view key, std::int64_t time_ns) = 0;
  virtual void text_argument(std::string_view key, std::string_view text) = 0;
  virtual void triple_argument(std::string_view key, const std::uint32_t (&values)[3]) = 0;
  virtual void raw_argument(std::string_view key, std::string_view json) = 0;
  /// Members of an object, without its braces.
  virtual void arguments(std::string_view members) = 0;
  /// How the kernel at hand was launched. False: it wants that as arguments.
  virtual bool kernel(const DeviceInfo& device, const KernelDetail& detail) = 0;
  /// A whole event of the input, that no table holds.
  virtual void event(std::string_view json) = 0;
};

}  // namespace rangefinder::chrome
