// SPDX-License-Identifier: MIT
#include "base/record_id.hpp"

#include "base/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

namespace rangefinder::base {

std::string text_of(const RecordId& record) {
  char id[20];
  const auto end = std::to_chars(id, id + sizeof id, record.id, 16).ptr;
  return std::string(id, end) + "-" + std::to_string(record.began_ns);
}

RecordId record_id_of_text(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  RecordId record;
  const auto id = std::from_chars(text.data(), end, record.id, 16);
  if (id.ec != std::errc() || id.ptr == end || *id.ptr != '-') return {};
  const auto began = std::from_chars(id.ptr + 1, end, record.began_ns);
  return began.ec == std::errc() && began.ptr == end ? record : RecordId{};
}

std::uint64_t record_id_of_file(const std::string& path) noexcept {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
  char bytes[kLiveRecordIdAt + sizeof(std::uint64_t)] = {};
  if (!fd.valid() || ::pread(fd.get(), bytes, sizeof bytes, 0) < static_cast<ssize_t>(sizeof(std::uint64_t))) return 0;
  const std::string_view all(bytes, sizeof bytes);
  const std::size_t at = all.starts_with("RFCAP") ? kRecordIdAt : all.starts_with("RFLIVE") ? kLiveRecordIdAt : 0;
  std::uint64_t id = 0;
  if (at != 0) std::memcpy(&id, bytes + at, sizeof id);
  return id;
}

}  // namespace rangefinder::base
