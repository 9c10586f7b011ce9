// SPDX-License-Identifier: MIT
#include "importer/kineto/byte_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rangefinder::importer::kineto {

std::size_t FileSource::read(std::span<char> out) {
  if (end_.kind != SourceEnd::Kind::kEnd) return 0;
  ssize_t count = 0;
  do {
    count = ::read(fd_.get(), out.data(), out.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    end_ = {SourceEnd::Kind::kFailed, base::system_error("read", path_, errno).message(), 0};
    return 0;
  }
  position_ += static_cast<std::uint64_t>(count);
  if (count == 0 && position_ < file_bytes_)
    end_ = {SourceEnd::Kind::kFailed, base::became_shorter(path_, file_bytes_, position_).message(), 0};
  return static_cast<std::size_t>(count);
}

std::size_t MemorySource::read(std::span<char> out) {
  const std::size_t count = std::min(out.size(), left_.size());
  std::memcpy(out.data(), left_.data(), count);
  left_.remove_prefix(count);
  position_ += count;
  return count;
}

PeekedSource::PeekedSource(ByteSource& source) : source_(source) {
  while (first_size_ < sizeof first_) {
    const std::size_t count = source_.read(std::span(first_).subspan(first_size_));
    if (count == 0) break;
    first_size_ += count;
  }
}

std::size_t PeekedSource::read(std::span<char> out) {
  if (first_read_ == first_size_) return source_.read(out);
  const std::size_t count = std::min(out.size(), first_size_ - first_read_);
  std::memcpy(out.data(), first_ + first_read_, count);
  first_read_ += count;
  return count;
}

}  // namespace rangefinder::importer::kineto
