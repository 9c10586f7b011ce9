// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/html/blocks.hpp"
#include "exporter/html/names.hpp"
#include "report/projected_timeline.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rangefinder::html {

/// What every section of the page is made of.
struct PageInput {
  const Timeline& timeline;
  const report::ProjectedTimeline& projected;  ///< its projection has the figures by stream
  const HtmlExportOptions& options;

  const Projection& projection() const { return projected.projection(); }
};

/// What sections add to the page beside their own member of the index.
struct PageOutput {
  explicit PageOutput(const Timeline& timeline) : names(timeline) {}

  Blocks blocks;
  Names names;
  std::map<std::string, std::string> absent;  ///< by section: why it is not there, and what to do
  std::uint64_t slices = 0;
  std::uint64_t left_out = 0;         ///< slices and samples that are not in the page, or only as a part of another
  std::vector<std::string> left_why;  ///< a sentence for each reason
};

/// "rank 3 on node7: python3, process 4711": what tells a process from others.
std::string process_label(const Timeline& timeline, ProcessIndex process);
/// "device 0: NVIDIA H100", with its process where there are several.
std::string device_label(const Timeline& timeline, DeviceIndex device);

}  // namespace rangefinder::html
