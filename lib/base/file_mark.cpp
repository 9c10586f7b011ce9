// SPDX-License-Identifier: MIT
#include "base/file_mark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace rangefinder::base {

FileMark mark_of_file(const Fd& fd) noexcept {
  char bytes[kLiveRecordIdAt + sizeof(std::uint64_t)] = {};
  const ssize_t size = fd.valid() ? ::pread(fd.get(), bytes, sizeof bytes, 0) : -1;
  FileMark mark;
  if (size < 0) return mark;
  const std::string_view all(bytes, static_cast<std::size_t>(size));
  if (all.empty()) mark.kind = FileKind::kEmpty;
  if (all.starts_with("RFCAP\r\n\x1a")) mark.kind = FileKind::kCapture;
  if (all.starts_with("RFLIVE\r\n")) mark.kind = FileKind::kLive;
  if (mark.kind == FileKind::kEmpty || mark.kind == FileKind::kOther) return mark;
  std::memcpy(mark.capture_id.data(), bytes + kCaptureIdAt, mark.capture_id.size());
  const std::size_t record_id_at = mark.kind == FileKind::kCapture ? kRecordIdAt : kLiveRecordIdAt;
  std::memcpy(&mark.record_id, bytes + record_id_at, sizeof mark.record_id);
  return mark;
}

FileMark mark_of_file(const std::string& path) noexcept {
  return mark_of_file(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)));
}

}  // namespace rangefinder::base
