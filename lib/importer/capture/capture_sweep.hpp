// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <variant>
#include <vector>

namespace rangefinder::importer {

/// One device row of a file, as it stands there.
using SweptRow = std::variant<const format::KernelRow*, const format::MemcpyRow*, const format::MemsetRow*,
                              const format::GraphLaunchRow*, const format::ApiRow*, const format::SyncRow*,
                              const format::OverheadRow*, const format::AllocationRow*, const format::JitRow*>;

/// CLOCK_REALTIME.
struct RowTimes {
  std::int64_t begin_ns, end_ns;
};
/// What happens at once ends where it begins.
template <typename Row>
RowTimes times_of(const Row& row) noexcept {
  if constexpr (requires { row.begin_ns; })
    return {row.begin_ns, row.end_ns};
  else
    return {row.time_ns, row.time_ns};
}

/// Receives a capture's events in order of time; times on CLOCK_MONOTONIC.
class SweepSink {
 public:
  virtual ~SweepSink() = default;
  /// A piece of one thread's records, in its order.
  virtual void on_host_events(const format::HostEvents& events) = 0;
  /// All host events up to `host_ns` have come, and all device rows that begin before `device_ns`.
  virtual void on_time(std::int64_t host_ns, std::int64_t device_ns) = 0;
  virtual void on_row(const SweptRow& row, std::int64_t begin_ns, std::int64_t end_ns) = 0;
};

/// Tells a caller's function, where the options have one, of the bytes done and of all bytes. `options` outlive it.
template <typename Options>
std::function<void(std::uint64_t, std::uint64_t)> progress_of(const Options& options) {
  if (options.progress == nullptr) return {};
  return [&options](std::uint64_t done, std::uint64_t total) { options.progress(options.progress_user, done, total); };
}

/// Reads a capture once, in order of time instead of the file's. A file holds host events a thread at a time and device
/// rows as CUPTI delivered them, late and unordered; what belongs together then is as far apart as the slowest thread's
/// buffer. In order of time it is as far apart as it was on the machine, so that little has to be remembered.
///
/// Device rows come by begin, host events ahead of them by a few milliseconds. Memory: the chunks that reach over the
/// current time.
class CaptureSweep {
 public:
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  explicit CaptureSweep(capture::CaptureReader& reader) noexcept : reader_(reader) {}

  /// False when nothing but host events is there: then they come in the file's order, and no time is told.
  bool has_device_rows() const noexcept;
  void run(SweepSink& sink, const Progress& progress);
  /// Rows that came after later ones, because too many chunks reached over one time.
  std::uint64_t late_rows() const noexcept { return late_rows_; }

 private:
  using Rows =
      std::variant<std::vector<format::KernelRow>, std::vector<format::MemcpyRow>, std::vector<format::MemsetRow>,
                   std::vector<format::GraphLaunchRow>, std::vector<format::ApiRow>, std::vector<format::SyncRow>,
                   std::vector<format::OverheadRow>, std::vector<format::AllocationRow>, std::vector<format::JitRow>>;
  struct Pending {  // a chunk of device rows that has not been read
    std::int64_t begin_ns;
    std::uint32_t chunk;
  };
  struct Loaded {
    Rows rows;
    std::vector<std::pair<std::int64_t, std::uint32_t>> order;  // begin, row
    std::size_t at = 0;
  };
  struct HostThread {
    std::vector<std::uint32_t> sources;  // chunks, then kLive + live events
    std::size_t next = 0;
    format::HostEvents events;
    std::size_t at = 0;
  };
  using Due = std::pair<std::uint64_t, std::uint32_t>;  // ticks, thread
  template <typename T>
  using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

  void visit(std::uint32_t chunk, capture::CaptureVisitor& visitor);
  void find_chunks();
  void find_host_chunk(std::uint32_t thread, std::uint32_t source, std::uint64_t first_ticks);
  std::int64_t first_time(std::uint32_t chunk);
  void load(std::uint32_t chunk);
  void load_until(std::int64_t time_ns);
  void deliver(SweepSink& sink, Loaded& loaded);
  void feed_host(SweepSink& sink, std::uint64_t until_ticks);
  bool feed_thread(SweepSink& sink, HostThread& thread, std::uint64_t until_ticks);
  bool load_host(HostThread& thread);
  std::uint64_t due_of(const HostThread& thread) const;
  std::uint64_t ticks_at(std::int64_t time_ns) const noexcept;

  capture::CaptureReader& reader_;
  Progress progress_;
  std::uint64_t visited_bytes_ = 0;

  std::vector<Pending> pending_;  // by begin
  std::size_t next_pending_ = 0;
  std::vector<Loaded> loaded_;
  std::vector<std::uint32_t> free_;
  Earliest<std::pair<std::int64_t, std::uint32_t>> next_rows_;  // begin, index in loaded_
  std::size_t loaded_rows_ = 0;
  std::int64_t newest_ns_ = INT64_MIN;
  std::uint64_t late_rows_ = 0;

  std::vector<HostThread> threads_;
  Earliest<Due> due_;
  std::vector<std::uint32_t> strays_;
};

}  // namespace rangefinder::importer
