// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/clean_json.hpp"
#include "exporter/chrome/timeline_slices.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::chrome {

/// Events of an imported trace that no table holds: memory instants, links of forward and backward operators, CUDA
/// events. Written back with times of this trace's base, strict, and without what viewers would warn of. What stands on
/// rows that are words ("Spans") is left out: Perfetto shows such rows without names, or with numbers of its own for
/// them.
class ForeignEvents {
 public:
  explicit ForeignEvents(TimelineExport& shared);

  const std::vector<ForeignSlice>& slices() const noexcept { return slices_; }
  /// All but the slices.
  void write();

 private:
  struct Event {
    std::vector<RawMember> members;
    std::string phase;
    bool timed = false;
    std::int64_t time_ns = 0;
    std::string arguments;  ///< where they are not those of the input

    const RawMember* find(std::string_view key) const noexcept;
    /// False when they are no numbers.
    bool ids(std::int64_t& pid, std::int64_t& tid) const;
  };
  struct FlowHalf {
    std::string key;
    std::int64_t time_ns;
    std::uint32_t row;
    bool start;
    bool arguments;
  };

  bool parse(std::uint32_t row, Event& event) const;
  void look_at(std::uint32_t row);
  void take_slice(const Event& event);
  std::optional<TrackId> known_track(const Event& event) const;
  TrackId track_of(std::int64_t pid, std::int64_t tid);
  void pair_flows();
  void tell_arguments_apart(Event& end, std::uint32_t start_row) const;
  void write_event(const Event& event);

  TimelineExport& shared_;
  std::vector<ForeignSlice> slices_;
  std::vector<FlowHalf> halves_;
  std::vector<bool> wanted_;
  std::map<std::uint32_t, std::uint32_t> starts_;  // row of an end: of its start, where both have arguments
};

}  // namespace rangefinder::chrome
