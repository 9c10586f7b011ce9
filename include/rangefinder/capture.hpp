// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/health.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder {

/// Something wrong with a capture file: where, how much, what.
struct CaptureFinding {
  std::uint64_t offset = 0;  ///< byte of the file
  std::uint64_t bytes = 0;
  std::string text;
};

/// How much of a kind of record a capture holds.
struct CaptureContent {
  std::string kind;  ///< "host events", "kernels", ...
  std::uint64_t chunks = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  ///< in the file, headers included
};

/// Facts about a capture that are known without reading its events.
struct CaptureInfo {
  std::string path;
  std::uint32_t format_major = 0;
  std::uint32_t format_minor = 0;
  std::uint64_t file_bytes = 0;
  std::uint32_t pid = 0;
  std::int64_t start_realtime_ns = 0;  ///< since 1970
  std::int64_t duration_ns = 0;        ///< from the start to the last record
  std::string clock;                   ///< "TSC at 2.60 GHz"
  std::int64_t clock_error_ns = 0;     ///< most that a device time can be off against a host time
  bool ended_cleanly = false;
  bool flight_recorder = false;
  bool simulated = false;
  std::string device_state;  ///< "full", or why device activity was not recorded
  std::uint32_t threads = 0;
  std::uint32_t devices = 0;
  std::uint32_t names = 0;
  std::uint64_t ranges = 0;      ///< that begin in it; with `deep` only, as the three that follow
  std::uint64_t steps = 0;       ///< that were begun by a step of the program
  std::uint64_t launches = 0;    ///< noted as they were made
  std::uint64_t activities = 0;  ///< kernels, copies and memsets
  std::vector<CaptureContent> content;
  std::vector<std::pair<std::string, std::string>> metadata;
  CaptureHealth health;  ///< with what this look at the file found
  std::vector<CaptureFinding> findings;
};

/// Opens a capture (.rfcap, or a live file that a dead program left) and says what is in it. With `deep`, every chunk
/// is unpacked, so that all damage shows in findings and health; otherwise headers and small chunks only.
///
/// Errors: kNotFound, kUnreadable when it is no capture, kUnsupported for a newer format.
/// Cost:   headers: milliseconds a gigabyte; deep: about a second a gigabyte.
RANGEFINDER_EXPORT Result<CaptureInfo> inspect_capture(const std::string& path, bool deep);

/// Writes what is readable of a capture, and of the live file beside it, as a new, complete capture.
/// Returns the number of records in it.
RANGEFINDER_EXPORT Result<std::uint64_t> repair_capture(const std::string& damaged, const std::string& repaired,
                                                        bool replace);

}  // namespace rangefinder
