// SPDX-License-Identifier: MIT
#pragma once

#include "buffer/captured_records.hpp"
#include "buffer/recorder.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace rangefinder::buffer {

/// Ranges are recorded while a CUDA graph is captured, whatever else is going on: which range made a node decides where
/// its work counts, for as long as the graph lives, and that may be longer than any session. So they are held here, and
/// every later session writes them into its own capture. While no session runs the recorder runs for this alone; what a
/// session records is held beside its own capture.
///
/// Threads: any. The mutex is not held while CUPTI is called, so that CUPTI's callbacks may come here.
class HeldRecords final : public HostSink {
 public:
  static HeldRecords& instance() noexcept;

  /// Some graph is being captured from now on, or none any more.
  void set_capturing(bool on) noexcept;

  /// As Recorder::start, drain and finish, for a session. The recording that runs for none ends with its start, and
  /// begins again with its end where a graph is still being captured.
  Status start_recorder(RecorderOptions options);
  void drain_recorder(HostSink& sink, bool partial) noexcept;
  void finish_recorder(bool remove_live) noexcept;
  /// True while the recorder runs for no session.
  bool holding() noexcept;

  /// Notes in the calling thread's records that it makes a node of a graph, where one is being captured. Every session
  /// from now on will have the note by this number; 0: not noted.
  std::uint32_t note_node() noexcept;
  /// Who knows which notes some graph still refers to, in order of their numbers: what was captured for graphs that are
  /// gone is not held for ever. Called with the mutex taken.
  using NotesInUse = std::vector<std::uint32_t> (*)();
  void ask_for_notes_in_use(NotesInUse ask) noexcept;

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
  /// From the begin of the first of some captures that overlap to the end of the last.
  struct Episode {
    std::uint64_t number;
    CaptureSpan span;
    std::uint32_t first_note, last_note;  // that were made in it
  };
  struct Run {
    std::uint64_t first_episode, last_episode;  // that it may belong to
    bool goes_on;                               // with something that was opened in the thread's run before
    std::string thread_name;
    format::HostRun run;
    std::vector<detail::Record> records;
  };
  class Beside;
  void begin_episode();
  void end_episode() noexcept;
  void hold() noexcept;
  void end_hold() noexcept;
  bool hold_run(const Thread& thread, const format::HostRun& run, std::span<const detail::Record> records,
                std::vector<detail::Record>& held);
  void close_open() noexcept;
  void add(Run run);
  void drop_unused() noexcept;
  void sample_clock();

  std::mutex mutex_;
  bool capturing_ = false;
  bool holding_ = false;
  NotesInUse notes_in_use_ = nullptr;
  std::uint32_t threads_ = 0;  // index of the next that may have records here
  std::uint32_t notes_ = 0;
  std::uint64_t last_episode_ = 0;
  std::vector<Episode> episodes_;  // whose graphs are in use, as far as is known; the last one may be open
  CapturedRecords captured_;       // of the recording that runs
  std::size_t records_ = 0;
  std::size_t kept_last_time_ = 0;  // records when what is not in use was dropped last
  std::vector<Run> runs_;
  std::vector<clock::ClockPoint> clock_points_;
  CaptureHealth lost_;
  clock::Clock* clock_ = nullptr;
};

}  // namespace rangefinder::buffer
