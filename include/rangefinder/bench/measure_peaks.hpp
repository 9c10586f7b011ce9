// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/bench/worker.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// Peak throughput and bandwidth of a machine; docs/how-to/draw-a-roofline.md.
namespace rangefinder::bench {

struct PeakOptions {
  /// A program with a worker's main whose hooks measure devices (WorkerHooks::measure_peaks); empty: the host alone.
  std::string worker;
  double seconds = 0.5;  ///< for each figure, roughly
  unsigned threads = 0;  ///< of the host; 0: as many as the process may use
  /// Of each array that bandwidth is measured with, of all threads together; 0: more than the caches hold. Smaller ones
  /// give the bandwidth of a cache.
  std::size_t array_bytes = 0;
  double timeout_s = 600;  ///< for the worker's answer
  std::function<bool()> cancelled{};
};

/// Measures the host here, and devices in the worker. The result is JSON: `schema_version`, machine, versions, and for
/// each peak the best of its samples with their median and spread.
///
/// Errors: kIo where a worker was given and fails; a device that is not there is a note in the JSON.
RANGEFINDER_EXPORT Result<std::string> measure_peaks(const PeakOptions& options);

/// A table for people of what measure_peaks gave.
RANGEFINDER_EXPORT Result<std::string> peaks_text(const std::string& json);

/// Reads a file that holds what measure_peaks gave.
RANGEFINDER_EXPORT Result<MachinePeaks> read_peaks(const std::string& path);

}  // namespace rangefinder::bench
