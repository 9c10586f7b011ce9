// SPDX-License-Identifier: MIT
#include <rangefinder/result.hpp>

namespace rangefinder {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kUnreadable:
      return "unreadable";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kExists:
      return "exists";
    case ErrorCode::kIo:
      return "i/o";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kIncomplete:
      return "incomplete";
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kTooLarge:
      return "too large";
  }
  return "unknown";
}

}  // namespace rangefinder
