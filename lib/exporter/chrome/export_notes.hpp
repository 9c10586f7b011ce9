// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::chrome {

/// What an export could not write as it was, by cause.
class ExportNotes {
 public:
  enum Cause : std::uint8_t {
    kOverlapping,       ///< on a row beside its own; not lost
    kFlowBackwards,     ///< its activity ended before its call began
    kFlowWithoutSlice,  ///< nothing was written that it could start from, or one end has no length
    kDeepRange,
    kNotFinite,
    kForeignHalf,
    kForeignPhase,
    kForeignText,
    kArguments,
    kLateRow,
    kCauses,
  };

  void add(Cause cause, std::uint64_t count = 1) noexcept { counts_[cause] += count; }
  std::uint64_t count(Cause cause) const noexcept { return counts_[cause]; }
  std::uint64_t left_out() const noexcept;
  /// "12 counter samples are not finite: left out", for those that occurred.
  std::vector<std::string> texts() const;

 private:
  std::array<std::uint64_t, kCauses> counts_{};
};

}  // namespace rangefinder::chrome
