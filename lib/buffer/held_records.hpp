// SPDX-License-Identifier: MIT
#pragma once

#include "buffer/recorder.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace rangefinder::buffer {

/// Ranges are recorded while a CUDA graph is captured, whatever else is going on: which range made a node decides where
/// its work counts, for as long as the graph lives. In the pauses of a session that is a part of its capture. While no
/// session runs it is held here, and every later session writes it into its own.
///
/// Threads: any. The mutex is not held while CUPTI is called, so that CUPTI's callbacks may come here.
class HeldRecords final : public HostSink {
 public:
  static HeldRecords& instance() noexcept;

  /// Some graph is being captured from now on, or none any more.
  void set_capturing(bool on) noexcept;

  /// As Recorder::start, for a session. The recording that runs for none ends.
  Status start_recorder(RecorderOptions options);
  /// True while the recorder runs for no session.
  bool holding() noexcept;

  /// A note that the calling thread makes a node of a graph, in its records.
  struct Note {
    std::uint32_t number = 0;  ///< 0: not noted
    bool held = false;         ///< every session will have it; else the one that runs
  };
  /// Where a graph is being captured.
  Note note_node() noexcept;

  /// Gives `sink` what is held, in order, and says what was lost of it.
  CaptureHealth replay(HostSink& sink) noexcept;
  /// Readings of the clock, for the times of what is held.
  std::vector<clock::ClockPoint> clock_points();

  /// The recorder's, with the mutex taken: must not be called by others.
  bool on_records(const Thread& thread, const format::HostRun& run,
                  std::span<const detail::Record> records) noexcept override;

  void lock_for_fork() noexcept { mutex_.lock(); }
  void unlock_after_fork(bool in_child) noexcept;

  /// For tests: as in a process that has captured nothing, with this clock; null: the machine's.
  void forget(clock::Clock* clock = nullptr) noexcept;

 private:
  struct Run {
    std::string thread_name;
    format::HostRun run;
    std::vector<detail::Record> records;
  };
  void hold() noexcept;
  void end_hold() noexcept;
  void sample_clock();

  std::mutex mutex_;
  bool capturing_ = false;
  bool holding_ = false;
  std::uint32_t threads_ = 0;  // that have records here
  std::uint32_t notes_ = 0;
  std::size_t records_ = 0;
  std::vector<Run> runs_;
  std::vector<clock::ClockPoint> clock_points_;
  CaptureHealth lost_;
  clock::Clock* clock_ = nullptr;
};

}  // namespace rangefinder::buffer
