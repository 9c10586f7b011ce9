// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder {

// What went missing or wrong while recording: member, number in the capture file (never reused), text for people.
// kLoss: data are missing. kNote: nothing is missing, but worth knowing.
#define RANGEFINDER_HEALTH_COUNTERS(X)                                                                               \
  X(dropped_ranges, 1, kLoss, "ranges dropped: no free block within the memory bound")                               \
  X(dropped_events, 2, kLoss, "marks, counter samples and start/end ranges dropped: no free block")                  \
  X(dropped_launches, 3, kLoss, "launch notes dropped: no free block")                                               \
  X(dropped_in_signal, 4, kLoss, "ranges and marks dropped in a signal handler that interrupted a record")           \
  X(lost_ends, 5, kNote, "ranges whose end found no memory; closed at the next record of their thread")              \
  X(foreign_ends, 6, kNote, "ranges that ended on another thread than they began on")                                \
  X(unnamed_ranges, 7, kLoss, "names not recorded: the name table is full")                                          \
  X(truncated_names, 8, kLoss, "names cut to 16 KiB")                                                                \
  X(dropped_threads, 9, kLoss, "threads not recorded: no memory for another thread")                                 \
  X(dropped_memory_events, 10, kLoss, "allocations and frees dropped: no free block")                                \
  X(dropped_collectives, 11, kLoss, "notes of collectives dropped: no free block")                                   \
  X(operators_without_inputs, 12, kLoss, "operators recorded without their inputs: too long, or too many different") \
  X(sampled_out_operators, 13, kNote, "operators left out by sampling, as asked")                                    \
  X(cupti_dropped, 16, kLoss, "device records dropped by CUPTI")                                                     \
  X(cupti_refused_buffers, 17, kLoss, "CUPTI buffer requests refused: memory bound reached")                         \
  X(cupti_unknown_kinds, 18, kNote, "CUPTI records of a kind this version does not know")                            \
  X(cupti_truncated, 19, kLoss, "CUPTI buffers that ended in the middle of a record")                                \
  X(untimed_activities, 20, kLoss, "device activities without times (CUPTI ran out of device buffers)")              \
  X(invalid_activities, 21, kLoss, "device activities discarded: end before begin, or timestamp out of range")       \
  X(flush_timeouts, 22, kLoss, "CUPTI flushes that did not return in time")                                          \
  X(cupti_errors, 23, kNote, "CUPTI calls that failed")                                                              \
  X(launch_disagreements, 24, kNote, "launches whose callback and API record name different threads")                \
  X(cupti_foreign_clock, 25, kNote, "device times converted: another tool registered a clock with CUPTI")            \
  X(unnoted_graph_nodes, 26, kLoss, "nodes of CUDA graphs whose creation was not noted: too many, or no memory")     \
  X(kept_buffers, 27, kLoss, "buffers of device records that CUPTI kept")                                            \
  X(launches_without_records, 28, kLoss, "launches that left no device record: another profiler has the buffers")    \
  X(device_outages, 29, kLoss, "times that device records stopped: CUPTI was taken over, or shut itself down")       \
  X(chunks_not_written, 32, kLoss, "pieces of the capture that could not be written")                                \
  X(records_not_written, 33, kLoss, "records in those pieces")                                                       \
  X(ring_overwritten, 34, kNote, "records that the flight recorder overwrote, by design")                            \
  X(dropped_device_samples, 40, kLoss, "samples of device sensors dropped: too many were waiting to be written")     \
  X(failed_device_samples, 41, kNote, "readings of device sensors that failed")                                      \
  X(threads_without_cpu_counters, 42, kLoss, "threads whose CPU events were not counted: out of descriptors")        \
  X(uncounted_ranges, 37, kNote, "ranges without counters: no CUDA context, or another range was being counted")     \
  X(lost_range_counters, 38, kLoss, "ranges whose counters were lost: CUPTI dropped them, or a call failed")         \
  X(sample_overflows, 39, kLoss, "times that a device's buffer of counter samples overflowed: samples are missing")  \
  X(damaged_chunks, 48, kLoss, "pieces of the file that were damaged and skipped while reading")                     \
  X(damaged_bytes, 49, kLoss, "bytes in those pieces")                                                               \
  X(lost_names, 50, kLoss, "names that records refer to and the file does not hold")                                 \
  X(unmatched_ends, 51, kNote, "range ends without a begin")                                                         \
  X(unfinished_ranges, 52, kNote, "ranges still open when the recording stopped")                                    \
  X(recovered_records, 53, kNote, "records recovered from the live file after the program died")                     \
  X(missing_live_files, 54, kLoss, "live files missing, with the newest records of each thread: number not known")

/// What a recording lost, by cause, and what else its reader should know. Printed by every report.
///
/// Units:   counts, 0 where nothing happened.
/// Threads: a value; `Session::health()` takes a snapshot.
struct CaptureHealth {
#define RANGEFINDER_HEALTH_MEMBER(member, number, severity, text) std::uint64_t member = 0;
  RANGEFINDER_HEALTH_COUNTERS(RANGEFINDER_HEALTH_MEMBER)
#undef RANGEFINDER_HEALTH_MEMBER

  enum class Severity : std::uint8_t { kLoss, kNote };
  struct Entry {
    std::string_view name;  ///< the member's name
    std::uint32_t number;   ///< in the capture file
    Severity severity;
    std::string_view text;
    std::uint64_t count;
  };

  /// True when nothing is missing.
  RANGEFINDER_EXPORT bool complete() const noexcept;
  /// Every counter, in the order above.
  RANGEFINDER_EXPORT std::vector<Entry> entries() const;
  /// Adds to the counter with that number; false for a number of a newer version.
  RANGEFINDER_EXPORT bool add(std::uint32_t number, std::uint64_t count) noexcept;
  RANGEFINDER_EXPORT CaptureHealth& operator+=(const CaptureHealth& other) noexcept;
};

}  // namespace rangefinder
