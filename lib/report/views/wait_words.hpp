// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/waits.hpp"

#include <string_view>

namespace rangefinder::report {

/// What a wait was for, in a word.
inline std::string_view wait_word(analysis::WaitReason reason) {
  using enum analysis::WaitReason;
  switch (reason) {
    case kStream:
      return "stream";
    case kEvent:
      return "event";
    case kDevice:
      return "device";
    case kContext:
      return "context";
    case kCopy:
      return "copy";
    case kFree:
      return "free";
    case kStreamForEvent:
      return "stream waits for event";
    case kQuery:
      return "query";
    case kUnknown:
      return "unknown";
  }
  return "";
}

}  // namespace rangefinder::report
