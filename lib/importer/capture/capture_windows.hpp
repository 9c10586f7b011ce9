// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"
#include "importer/capture/assembly_tee.hpp"
#include "importer/capture/capture_sweep.hpp"
#include "importer/capture/file_loader.hpp"
#include "importer/capture/host_shift.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace rangefinder::importer {

/// A capture as a sequence of small timelines, one window of time each, in memory that does not grow with the capture.
///
///   CaptureWindows windows(*reader, {});
///   windows.run([&](Timeline& window, bool is_last) {
///     const Projection projection = project(window, {});
///     for (ActivityIndex row{0}; row < windows.activity_rows(); ++row) use(row, projection.owner[row]);
///   });
///
/// A window holds, first, its own rows: the activities, calls, marks and samples that begin in it, and the ranges that
/// were open in it, of which those that are not over end at the end of all time. Behind them stand the rows of earlier
/// windows that they refer to: launches, autograd nodes and the ranges around them, and of graphs that were launched as
/// a whole the last operations that are known. project() of a window gives each of its own activities the owner that it
/// has in the whole capture, but for what WindowStore gives up (launches whose activities come very late, nodes made
/// very long ago), which then has no owner.
///
/// Texts, processes, threads, devices and streams are those of the capture so far, and keep their indexes. Counters of
/// ranges, samples of sensors and of devices' counters are left out. Health, notes and metadata are there with the last
/// window.
class CaptureWindows {
 public:
  struct Options {
    /// Rows of a window, about.
    std::size_t events = std::size_t{1} << 17;
    CaptureSweep::Progress progress;
    /// Is told of all events too, before they are in a window. May be null.
    SweepSink* also = nullptr;
    /// Is told what the host events mean, before it is in a window; of what is still open at the end, behind the last
    /// window. May be null.
    AssemblySink* assembled = nullptr;
    /// How ranges end that are open where windows end: what an earlier reading of the file in windows of that size has
    /// found. Null: as far as those windows know, they last for ever.
    const RangeEnds* known_ends = nullptr;
    RangeEnds* found_ends = nullptr;
    /// Behind the own calls of a window stand those of the launches of its activities.
    bool launch_calls = false;
  };
  CaptureWindows(capture::CaptureReader& reader, Options options);

  /// Calls `use(timeline, is_last)` for each window; it may change the timeline's activities. At least once.
  void run(const std::function<void(Timeline&, bool)>& use);

  /// Of the window at hand, its own rows: the first ones of their tables.
  std::size_t activity_rows() const noexcept { return loader_.activity_rows(); }
  std::size_t call_rows() const noexcept { return loader_.call_rows(); }
  /// With Options::launch_calls: an earlier window had activities of the launch.
  bool has_brought_before(LaunchIndex launch) const noexcept { return loader_.has_brought_before(launch); }
  std::size_t range_rows() const noexcept { return loader_.range_rows(); }
  /// Of these, the first ones were open when the window began: the open ones of the window before, in their order.
  std::size_t carried_rows() const noexcept { return loader_.carried_rows(); }
  /// Activities and calls of later windows begin at that time or later, but for those that are late_rows().
  std::int64_t time_ns() const noexcept { return time_ns_; }
  /// The row is not over at the window's end.
  bool is_open(RangeIndex row) const noexcept { return loader_.is_open(row); }
  const std::vector<bool>& open_rows() const noexcept { return loader_.open_rows(); }
  /// What names a range in all windows: ranges are numbered from 1 in the order in which they began.
  std::uint64_t key_of(RangeIndex row) const noexcept { return loader_.key_of(row); }
  std::span<const std::uint64_t> keys() const noexcept { return loader_.keys(); }
  /// False: no later window holds the range.
  bool keeps(std::uint64_t key) const noexcept { return loader_.keeps(key); }
  /// No range so far is a start/end range, ended on another thread, was suspended or lacks its end. Where there are
  /// such ranges, windows need their ends to know which are inside of others.
  bool only_nests() const noexcept { return loader_.only_nests(); }
  /// What is inside of what is known, so far.
  bool knows_ends() const noexcept { return options_.known_ends != nullptr || only_nests(); }
  /// The keys for which `keeps` is true: all from the first one on, and the earlier ones, which are in order.
  struct Kept {
    std::uint64_t first_key = 0;
    std::vector<std::uint64_t> earlier;
  };
  Kept kept() const { return {loader_.first_key(), loader_.earlier_keys()}; }
  /// Launches that were given up before they brought anything, and device rows that came out of order.
  std::uint64_t abandoned_launches() const noexcept { return loader_.abandoned_launches(); }
  std::uint64_t late_rows() const noexcept { return sweep_.late_rows(); }

 private:
  class Feeder;
  std::size_t rows() const noexcept;

  Options options_;
  HostShift no_shift_;
  LoadOptions load_options_;
  Timeline timeline_;
  FileLoader loader_;
  std::optional<AssemblyTee> tee_;
  CaptureSweep sweep_;
  std::int64_t time_ns_ = std::numeric_limits<std::int64_t>::min();
};

/// A reading of a capture in windows, and a second one where ranges need not nest: what is inside of what is told by
/// their ends, which the first one finds. `read(reader, known_ends, found_ends)` returns a Result<bool>; false: it has
/// not done its work, since its windows did not know the ends.
template <typename Read>
Status read_in_windows(capture::CaptureReader& reader, Read read) {
  RangeEnds ends;
  Result<bool> done = read(reader, nullptr, &ends);
  if (!done) return std::move(done).error();
  if (*done) return {};
  Result<capture::CaptureReader> again = capture::CaptureReader::open(reader.path());
  if (!again) return std::move(again).error();
  done = read(*again, &ends, nullptr);
  return done ? Status() : Status(std::move(done).error());
}

}  // namespace rangefinder::importer
