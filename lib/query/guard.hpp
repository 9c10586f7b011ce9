// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/query.hpp>
#include <rangefinder/result.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdint>

namespace rangefinder::query {

/// Makes a connection one that only reads what modules serve: no file, no extension, no setting, bounded texts.
///
/// Errors: kInternal where SQLite does not take an option.
Status harden(sqlite3* connection);

/// Holds a query to its limits while it exists: ends it when its time is over, or when SQLite has taken too much memory
/// since the begin. SQLite counts memory for the process, so that work of other threads with SQLite counts, too.
class Guard {
 public:
  Guard(sqlite3* connection, const QueryLimits& limits);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  enum class Verdict : std::uint8_t { kGoOn, kOutOfTime, kOutOfMemory, kTooManyCalls };
  Verdict verdict() const noexcept { return verdict_; }
  /// `result_bytes`: what the caller keeps of the result.
  Verdict check(std::uint64_t result_bytes) noexcept;
  /// Counts the functions of a query while it is compiled.
  bool allows_one_more_call() noexcept;
  /// The error that goes with the verdict.
  Error error() const;

 private:
  static int on_progress(void* self) noexcept;

  sqlite3* connection_;
  QueryLimits limits_;
  std::chrono::steady_clock::time_point end_;
  std::int64_t bytes_before_;
  std::uint64_t result_bytes_ = 0;
  int calls_ = 0;
  Verdict verdict_ = Verdict::kGoOn;
};

}  // namespace rangefinder::query
