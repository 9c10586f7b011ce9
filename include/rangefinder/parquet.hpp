// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/arrow.h>
#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <string>

namespace rangefinder {

struct ParquetExportOptions {
  /// Replace the files of a recording that has been exported into the folder before.
  bool replace = false;
  /// Write `detail/` too: a row per activity, call, range and collective. Without it a recording takes kilobytes.
  bool detail = true;
  /// Which job and which run of it the recordings are of: names of folders. Empty: the metadata `job`, or else the name
  /// of the input; and when the earliest recording of the input began, "20261127T175154Z".
  std::string job;
  std::string run;
  /// Which range owns device work.
  Attribution attribution = Attribution::kAuto;
  std::uint64_t max_memory_bytes = 0;  ///< LoadOptions::max_memory_bytes, where the input is no capture
  /// What writes the files; null: the component librangefinder_parquet.so, which is loaded. See c/arrow.h.
  const rf_parquet_writer* writer = nullptr;
  /// Called now and then with bytes done and bytes in all (0: unknown). May be null.
  void (*progress)(void* user, std::uint64_t done, std::uint64_t total) = nullptr;
  void* progress_user = nullptr;
};

struct ParquetExportReport {
  std::uint64_t recordings = 0;
  std::uint64_t activities = 0;
  std::uint64_t rows = 0;  ///< of all tables
};

/// Writes recordings as Parquet for DuckDB, Spark and pandas: docs/reference/parquet-schema.md has the tables. `input`
/// is a capture, a folder of captures, a trace or an export; `folder` may hold other recordings, among which these are
/// put: DIR/TABLE/job=JOB/run=RUN/rank=RANK/TABLE.parquet. Captures of a folder are read one after the other, each in
/// windows of time, so that memory grows with neither; each keeps its own clock.
///
///   rangefinder::export_parquet("run/", "fleet/", {.job = "bert", .run = "7"});  // C++20
///
/// Errors:  those of `load_timeline`; kUnsupported where nothing writes Parquet; kExists unless
///          `replace`; kIo. Files get their names when all of a recording is written.
/// Threads: any.
/// Cost:    memory does not grow with the input, but for traces and exports; measured in docs/reference/measured.md.
RANGEFINDER_EXPORT Status export_parquet(const std::string& input, const std::string& folder,
                                         const ParquetExportOptions& options = {},
                                         ParquetExportReport* report = nullptr);

}  // namespace rangefinder
