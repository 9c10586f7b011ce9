// SPDX-License-Identifier: MIT
#pragma once

#include "analyses/job_texts.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace bench {

enum JobStream : std::uint32_t { kWorkStream, kCommunicationStream, kCopyStream, kJobStreams };

/// A thread of a rank and how far it is.
struct JobThread {
  rangefinder::ThreadIndex index{};
  std::int64_t now_ns = 0;
  std::vector<rangefinder::RangeIndex> annotations;  ///< open ones
};

/// What a rank of the job writes into the timeline: ranges, calls, launches, activities, each as a recorder would.
/// Streams run what they are given one after the other.
class RankWork {
 public:
  RankWork(rangefinder::Timeline& timeline, const JobTexts& texts, std::uint32_t rank, std::uint32_t ranks);

  JobThread main, engine, loader;
  const JobTexts& texts;
  rangefinder::Timeline& timeline;
  rangefinder::ProcessIndex process{};
  rangefinder::DeviceIndex device{};

  rangefinder::RangeIndex open(JobThread& thread, rangefinder::StringId name,
                               rangefinder::RangeKind kind = rangefinder::RangeKind::kAnnotation);
  void close(JobThread& thread, rangefinder::RangeIndex range);

  /// A call of CUDA that takes so long. Returns its correlation id.
  std::uint64_t call(JobThread& thread, rangefinder::StringId name, std::int64_t length_ns);
  struct Kernel {
    rangefinder::StringId name;
    std::uint32_t detail;
    std::int64_t length_ns;
    JobStream stream = kWorkStream;
  };
  rangefinder::LaunchIndex launch(JobThread& thread, const Kernel& kernel);
  void copy(JobThread& thread, rangefinder::StringId name, std::uint32_t copy_kind, std::uint64_t bytes,
            JobStream stream);
  void clear_memory(JobThread& thread, std::uint64_t bytes);
  /// The graph that was captured by the launches in `nodes`; all of them run.
  void launch_graph(JobThread& thread, const std::vector<rangefinder::LaunchIndex>& nodes);
  /// Work of one stream waits for what the other has been given so far.
  void wait_for_stream(JobThread& thread, JobStream waits, JobStream waited_for);
  /// The thread waits until a stream has done what it was given.
  void synchronize(JobThread& thread, JobStream stream);
  /// A collective, or a message to or from that rank of the group. Its kernel runs on the stream for communication.
  void communicate(JobThread& thread, rangefinder::CollectiveKind kind, rangefinder::ProcessGroupIndex group,
                   std::int64_t elements, std::int32_t peer = -1);

  /// A block of memory of the device (of the host for `on_host`); its address.
  std::uint64_t allocate(JobThread& thread, std::uint64_t bytes, bool on_host = false);
  void free(JobThread& thread, std::uint64_t address, std::uint64_t bytes, bool on_host = false);

  /// Activities so far go into the timeline in order of time, as a recorder delivers them.
  void deliver();
  std::uint64_t activities() const noexcept { return delivered_ + pending_.size(); }
  /// When the last stream is done.
  std::int64_t device_free_ns() const noexcept;
  /// Between 0 and `most`, the same in each run.
  std::int64_t jitter(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
  }

 private:
  rangefinder::LaunchIndex note_launch(JobThread& thread, rangefinder::StringId name, std::int64_t length_ns);
  rangefinder::ActivityRow& add(rangefinder::ActivityKind kind, rangefinder::StringId name,
                                rangefinder::LaunchIndex launch, JobStream stream, std::int64_t length_ns);

  std::array<rangefinder::StreamIndex, kJobStreams> streams_{};
  std::array<std::int64_t, kJobStreams> free_ns_{};
  std::uint64_t correlation_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t next_address_ = 0;
  std::int64_t allocated_bytes_ = 0, host_bytes_ = 0;
  std::vector<rangefinder::ActivityRow> pending_;
  std::vector<std::int64_t> numbers_;  // of the next collective, by group
  std::mt19937_64 random_;
};

}  // namespace bench
