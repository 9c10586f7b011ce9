// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::parquet {

/// Where the rows of a process stand among those of all jobs.
struct Partition {
  std::string job;
  std::string run;
  std::int32_t rank = 0;
};

/// A value in the name of a folder: what is no letter, digit, dot, dash or underscore as %XX, as Hive has it; "_" for
/// an empty one, since readers take an empty value for none.
std::string hive_value(std::string_view text);
/// "ROOT/detail/calls/job=bert/run=1/rank=0".
std::string hive_folder(const std::string& root, std::string_view table, const Partition& partition);

/// "20261127T175154Z"; "unknown" for kNoTime. What tells the runs of a job apart.
std::string run_of_time(std::int64_t realtime_ns);

}  // namespace rangefinder::parquet
