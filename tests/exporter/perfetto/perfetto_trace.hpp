// SPDX-License-Identifier: MIT
#pragma once

#include "support/capture_builder.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::testing {

/// A Perfetto trace as its readers see it: packets in order of time, names of each sequence, ends that close what began
/// last. Everything that a reader would count as an error fails the test.
struct PerfettoTrace {
  static PerfettoTrace of(const Timeline& timeline, const PerfettoExportOptions& options = {});
  static PerfettoTrace of(const CaptureBuilder& capture, const PerfettoExportOptions& options = {});
  /// `is_cut`: slices may lack their ends, and the last packet its own.
  static PerfettoTrace parse(std::string_view bytes, bool is_cut = false);

  using Arguments = std::map<std::string, std::string>;
  struct Slice {
    std::string name, category, row;  ///< row: "heading / row"; of a stage "GPU number / queue"
    std::int64_t begin_ns = 0, end_ns = 0;
    Arguments arguments;
    bool is_stage = false;
    // Of stages.
    std::uint64_t event_id = 0, submission = 0, context = 0;
    std::int64_t pid = 0;
    std::string description;
    std::uint64_t grid[3] = {}, block[3] = {};
    std::map<std::string, double> launch;
    std::uint64_t kernel_iid = 0;
    // Of calls.
    std::uint64_t submitted = 0;
  };
  struct Sample {
    std::string name, row;
    std::int64_t time_ns = 0;
    double value = 0;
  };
  struct ArrowEnd {
    char phase = 0;
    std::uint64_t id = 0;
    std::string row;
    std::int64_t time_ns = 0;
  };

  std::string bytes;
  PerfettoExportReport report;
  std::vector<Slice> slices;  ///< in order of the begin
  std::vector<Slice> instants;
  std::vector<Sample> samples;
  std::vector<ArrowEnd> arrows;
  Arguments attributes;
  std::vector<std::string> gpus;
  std::int64_t monotonic_ns = 0, realtime_ns = 0;  ///< of the first snapshot

  std::vector<Slice> all(std::string_view category) const;
  /// Exactly one; fails the test otherwise.
  Slice one(std::string_view name) const;
};

}  // namespace rangefinder::testing
