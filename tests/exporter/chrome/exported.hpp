// SPDX-License-Identifier: MIT
#pragma once

#include "support/capture_builder.hpp"
#include "support/json_value.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::testing {

/// "1234.567" -> 1234567. Throws where a time has not exactly three decimals.
std::int64_t nanoseconds(const JsonValue& number);

/// A slice, instant or sample of an export.
struct TraceEvent {
  const JsonValue* json = nullptr;
  std::string phase, category, name, row;  ///< row: "process label / thread name"
  std::int64_t time_ns = 0;                ///< since the origin of the trace
  std::int64_t duration_ns = 0;
  bool has(const std::string& argument) const { return json->has("args") && (*json)["args"].has(argument); }
  const JsonValue& operator[](const std::string& argument) const { return (*json)["args"][argument]; }
};

/// An export, taken apart.
struct Exported {
  static Exported of(const Timeline& timeline, const ChromeExportOptions& options = {});
  static Exported of(const CaptureBuilder& capture, const ChromeExportOptions& options = {});
  static Exported of_file(const std::string& input, const ChromeExportOptions& options = {});
  static Exported parse(std::string text);

  std::string text;
  JsonValue document;
  ChromeExportReport report;
  std::vector<TraceEvent> events;  ///< all but descriptions and ends of flows

  /// All of a category; of that name where one is given.
  std::vector<TraceEvent> all(std::string_view category, std::string_view name = {}) const;
  /// Exactly one; fails the test otherwise.
  TraceEvent one(std::string_view category, std::string_view name) const;

  /// The names of processes and devices.
  std::vector<std::string> headings() const;
  /// The rows with slices under a heading, in the order in which Perfetto shows them: by tid.
  std::vector<std::string> rows_of(std::string_view heading) const;

  struct Arrow {
    std::string from_row, to_row;
    std::int64_t from_ns, to_ns;
    std::int64_t id;
    std::string category;
  };
  std::vector<Arrow> arrows() const;
};

/// Fails the test for anything that a viewer would refuse, warn of, or show wrongly: text that is not strict JSON,
/// slices that cut each other on a row, arrows with one end or outside of slices, rows without a description.
void require_sound(const Exported& trace);

}  // namespace rangefinder::testing
