// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/html/counters.hpp"
#include "exporter/html/device_time.hpp"
#include "exporter/html/page_input.hpp"
#include "exporter/html/slices.hpp"
#include "report/table.hpp"

#include <optional>
#include <string>
#include <vector>

// The members of the index, as README.md describes them: each function gives the JSON of its own. Where the recording
// has nothing for a section, that is empty, and PageOutput::absent says why. Names are counted before any of them.
namespace rangefinder::html {

/// Before names get their numbers.
void count_names(const PageInput& input, const std::vector<Track>& tracks, Names& names);

/// `tracks` lose their slices on the way.
std::string timeline_section(const PageInput& input, std::vector<Track>& tracks,
                             const std::vector<CounterTrack>& counters, PageOutput& output);

std::string steps_section(const PageInput& input, PageOutput& output);
std::string memory_section(const PageInput& input, PageOutput& output);
std::string ranks_section(const PageInput& input, const std::optional<Result<Stragglers>>& compared,
                          PageOutput& output);
std::string advice_section(const PageInput& input, const DeviceTime& time,
                           const std::optional<Result<Stragglers>>& found);
/// Last of all: it says what the others left out.
std::string lost_section(const PageInput& input, const PageOutput& output);
std::string verdict_section(const PageInput& input, const DeviceTime& time, const HostTime& host);
std::string facts_section(const PageInput& input);

/// The tree of ranges is made once, and its names counted with it.
class RangesSection {
 public:
  RangesSection(const PageInput& input, PageOutput& output);
  ~RangesSection();
  RangesSection(const RangesSection&) = delete;
  RangesSection& operator=(const RangesSection&) = delete;
  HostTime host_time() const;
  std::string json() const;

 private:
  struct Row;
  const PageInput& input_;
  PageOutput& output_;
  std::vector<Row> rows_;
};

/// Likewise.
class RooflineSection {
 public:
  RooflineSection(const PageInput& input, PageOutput& output);
  ~RooflineSection();
  RooflineSection(const RooflineSection&) = delete;
  RooflineSection& operator=(const RooflineSection&) = delete;
  std::string json() const;

 private:
  struct Row;
  void add_rows(const report::Table& table);

  const PageInput& input_;
  PageOutput& output_;
  std::vector<Row> rows_;
  std::string device_;
};

}  // namespace rangefinder::html
