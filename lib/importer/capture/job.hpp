// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"
#include "importer/capture/host_shift.hpp"
#include "timeline/move_times.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::importer {

/// The hosts of the captures that are read together, and how their times come onto one clock. Processes that share a
/// running system share its CLOCK_MONOTONIC; where a capture does not tell that, the host's name stands for it.
class JobHosts {
 public:
  /// The next capture's, in the order of processes.
  void add(const capture::CaptureReader& reader);
  /// The next process', whose input may not tell what system it ran on: `boot` is empty then, and `name` its own.
  void add(const std::string& name, const std::string& boot, std::int64_t realtime_offset_ns);
  const HostShift& shift_of_process(std::size_t process) const noexcept { return hosts_[of_process_[process]].shift; }
  /// The last process that was added has been read into `timeline`.
  void note_rows(const Timeline& timeline);
  /// Compares the clocks by what the devices did, and puts the rows of hosts whose clocks are known better now on that
  /// of the first one.
  void align(Timeline& timeline);
  /// Fills Timeline::hosts, and says how each clock is known.
  void describe(Timeline& timeline) const;

 private:
  struct Host {
    std::string boot;
    std::int64_t realtime_offset_ns;
    HostShift shift;
    HostInfo info;
    bool contradiction = false;
  };
  struct Rows {
    std::uint32_t host;
    timeline::RowCounts end;  // those of the next host's begin there
  };
  std::vector<Host> hosts_;
  std::vector<std::uint32_t> of_process_;
  std::vector<Rows> rows_;
};

/// Ranks that are missing or there more than once, and captures of jobs of different sizes: notes for people.
void note_ranks(Timeline& timeline);

}  // namespace rangefinder::importer
