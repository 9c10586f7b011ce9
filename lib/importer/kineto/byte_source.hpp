// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "base/file.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace rangefinder::importer::kineto {

/// Why a source has no more bytes.
struct SourceEnd {
  enum class Kind : std::uint8_t {
    kEnd,      ///< all of it was read
    kCutOff,   ///< the compressed data end early
    kDamaged,  ///< the compressed data are damaged, or their checksum or length is wrong
    kRefused,  ///< past a limit
    kFailed,   ///< the operating system refused
  } kind = Kind::kEnd;
  std::string reason;
  std::uint64_t trailing_bytes = 0;  ///< of something else behind the compressed data
};

/// Bytes in order. Used by one thread at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Some bytes into `out`, which is not empty; 0 when there are none left, and end() then says why.
  virtual std::size_t read(std::span<char> out) = 0;
  virtual const SourceEnd& end() const noexcept { return end_; }
  /// Bytes of the file that have been used; for progress.
  virtual std::uint64_t file_position() const noexcept = 0;

 protected:
  SourceEnd end_;
};

/// Reads rather than maps: a mapped file that is truncated meanwhile kills the reader with SIGBUS, and pipes
/// cannot be mapped at all.
class FileSource final : public ByteSource {
 public:
  FileSource(base::Fd fd, std::string path, std::uint64_t file_bytes) noexcept
      : fd_(std::move(fd)), path_(std::move(path)), file_bytes_(file_bytes) {}
  std::size_t read(std::span<char> out) override;
  std::uint64_t file_position() const noexcept override { return position_; }

 private:
  base::Fd fd_;
  std::string path_;
  std::uint64_t file_bytes_;  // when it was opened
  std::uint64_t position_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(base::ByteView bytes) noexcept : left_(base::as_text(bytes)) {}
  std::size_t read(std::span<char> out) override;
  std::uint64_t file_position() const noexcept override { return position_; }

 private:
  std::string_view left_;
  std::uint64_t position_ = 0;
};

/// Another source whose first bytes can be looked at before they are read.
class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(ByteSource& source);
  std::string_view first_bytes() const noexcept { return {first_, first_size_}; }
  std::size_t read(std::span<char> out) override;
  const SourceEnd& end() const noexcept override { return source_.end(); }
  std::uint64_t file_position() const noexcept override { return source_.file_position(); }

 private:
  ByteSource& source_;
  char first_[4];
  std::size_t first_size_ = 0;
  std::size_t first_read_ = 0;
};

}  // namespace rangefinder::importer::kineto
