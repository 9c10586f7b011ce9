// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spans.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// The work of a collective on the host.
struct HostCommunication {
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

/// Finds what each process without work on a device did at every moment: a job on CPUs, with Gloo.
///
/// A thread computes while it is in an operator, but not while it calls a collective or waits for one; in a process
/// without operators, while it is in a range. The work of a collective is the time that its library told; else the time
/// from the call until the wait for it was over.
///
/// Cost: O(n log n) in ranges and collectives.
class HostStates {
 public:
  explicit HostStates(const Timeline& timeline);

  /// In order: those with ranges or collectives, and no activity on any device.
  const std::vector<ProcessIndex>& processes() const noexcept { return processes_; }
  /// In order of begin.
  const std::vector<HostCommunication>& communications_of(ProcessIndex process) const noexcept {
    return communications_[process];
  }
  /// Adjoining and in order, from the first to the last thing that the process did; kinds as DeviceStates has them.
  std::vector<Span> of(ProcessIndex process) const;

 private:
  void find_host_only();
  void find_communications();
  std::vector<RangeKind> kinds_that_compute() const;
  void find_computing();
  bool is_host_only(ProcessIndex process) const noexcept { return host_only_[process]; }

  const Timeline& timeline_;
  std::vector<bool> host_only_;  // by process
  std::vector<ProcessIndex> processes_;
  std::vector<std::vector<Span>> computing_;                    // by process; disjoint, in order
  std::vector<std::vector<HostCommunication>> communications_;  // by process, in order of begin
};

}  // namespace rangefinder::analysis
