// SPDX-License-Identifier: MIT
#pragma once

#include "format/host_events.hpp"

#include <rangefinder/detail/record.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace rangefinder::buffer {

/// A stretch in which some stream was captured, by the recorder's clock, both ends included.
struct CaptureSpan {
  std::uint64_t begin_ticks;
  std::uint64_t end_ticks;
};

/// Takes out of the records of threads what belongs to captures of CUDA graphs, so that it can be kept for longer than
/// the rest: ranges that were opened while a stream was captured, with their ends whenever those come, notes of nodes,
/// and what autograd numbered. Not what was opened before, launches by correlation id, or anything else.
///
/// Feed it the runs of one recording in order. Used by one thread.
class CapturedRecords {
 public:
  using Record = detail::Record;

  /// What belongs to captures; `spans`: those that overlap the run, in order.
  std::vector<Record> take(const format::HostRun& run, std::span<const Record> records,
                           std::span<const CaptureSpan> spans);
  /// Something that was taken is open: its end is wanted.
  bool any_open() const noexcept { return kept_open_ != 0; }
  bool any_open(std::uint32_t thread) const noexcept;

  struct Ends {
    format::HostRun run;
    std::vector<Record> records;
  };
  /// The ends of all that is open, of the recording that is over. It then knows no thread any more.
  std::vector<Ends> close(std::uint64_t ticks);

 private:
  /// Name and category: what the end of a range finds its begin by.
  using Label = std::uint64_t;
  struct Open {
    Label label;
    bool kept;
  };
  struct Thread {
    format::HostRun next;  // where the run after the last one begins
    std::vector<Open> ranges;
    std::vector<bool> nodes;  // of autograd; true: kept
    // Number of the thread's next node, in the program and as the records taken say it; unset: not known.
    std::optional<std::uint64_t> number, said;
    std::uint32_t forward_thread = 0;
  };
  struct Taking;  // one run

  void open(std::vector<Open>& ranges, Label label, bool kept);
  bool close_one(std::vector<Open>& ranges, Label label);
  std::uint32_t close_last(std::vector<Open>& ranges, std::uint32_t count);
  std::uint32_t close_last(std::vector<bool>& nodes, std::uint32_t count);
  bool close_of_other(std::uint32_t thread, Label label);

  std::unordered_map<std::uint32_t, Thread> threads_;
  std::map<std::uint64_t, std::uint32_t> start_end_;  // start/end ranges that are open: handle, thread
  std::uint64_t kept_open_ = 0;                       // ranges and nodes of both sorts
};

}  // namespace rangefinder::buffer
