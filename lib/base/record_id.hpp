// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::base {

/// One call of `rangefinder record`. What its processes record carries the id, by which the command finds it again, and
/// by which they know each other's files from those of an earlier call.
struct RecordId {
  std::uint64_t id = 0;       ///< random; 0: none
  std::int64_t began_ns = 0;  ///< CLOCK_REALTIME, as file systems count it
  int program = 0;            ///< the process that the command started; 0: not known
};

/// Processes are told of it by this variable.
inline constexpr const char* kRecordIdVariable = "RANGEFINDER_RECORD_ID";
std::string text_of(const RecordId& record);
/// No id where the text is none.
RecordId record_id_of_text(std::string_view text) noexcept;

}  // namespace rangefinder::base
