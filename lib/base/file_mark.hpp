// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rangefinder::base {

/// What a file is by its first bytes: as much of the two file headers as decides who may replace a file.
enum class FileKind : std::uint8_t { kEmpty, kCapture, kLive, kOther };

struct FileMark {
  FileKind kind = FileKind::kOther;
  std::array<std::uint8_t, 16> capture_id{};
  std::uint64_t record_id = 0;  ///< 0: no `rangefinder record` has made it
};

// Where these are in the header of a capture, and of a live file.
inline constexpr std::size_t kCaptureIdAt = 16;  // of both
inline constexpr std::size_t kRecordIdAt = 80;
inline constexpr std::size_t kLiveRecordIdAt = 152;

/// kOther where it cannot be read.
FileMark mark_of_file(const Fd& fd) noexcept;
/// Of a plain file, and no link; kOther where there is none.
FileMark mark_of_file(const std::string& path) noexcept;

}  // namespace rangefinder::base
