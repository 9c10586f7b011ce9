// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/nsight/sqlite_output.hpp"

#include <cstdint>

namespace rangefinder::nsight_export {

/// NVTX_EVENTS.eventType.
enum EventType : int {
  kCategoryEvent = 33,
  kMarkEvent = 34,
  kPushPopEvent = 59,
  kStartEndEvent = 60,
  kDomainEvent = 75,
};

/// CUPTI's "no stream".
inline constexpr std::int64_t kNoStream = 0xFFFFFFFF;

/// Makes the tables, and fills those that say what numbers mean.
void write_schema(SqliteOutput& output);

}  // namespace rangefinder::nsight_export
