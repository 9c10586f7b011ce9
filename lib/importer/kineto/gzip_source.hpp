// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/byte_source.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace rangefinder::importer::kineto {

inline bool is_gzip(std::string_view first_bytes) noexcept { return first_bytes.starts_with("\x1f\x8b"); }

/// Unpacks gzip, any number of members, as a stream.
///
/// zlib inflates and libdeflate makes the checksum. On a 35 MB trace that takes 16 ms into a buffer that stays in the
/// cache; zlib alone takes 23 ms, and libdeflate, which cannot stream, 15 to 24 ms plus memory for the whole text.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(ByteSource& packed);
  ~GzipSource() override;
  std::size_t read(std::span<char> out) override;
  std::uint64_t file_position() const noexcept override { return packed_.file_position(); }

 private:
  enum class State : std::uint8_t { kHeader, kBody, kTrailer, kEnd };
  struct Inflater;

  bool refill();
  int next_byte();
  bool read_header();
  bool skip_text();
  std::size_t inflate(std::span<char> out);
  void read_trailer();
  void finish(SourceEnd::Kind kind, std::string reason);
  void cut_off();

  ByteSource& packed_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  std::uint64_t packed_used_ = 0;  ///< in buffers before this one
  std::uint64_t unpacked_ = 0;
  std::uint32_t member_size_ = 0;
  std::uint32_t checksum_ = 0;
  std::uint32_t members_ = 0;
  State state_ = State::kHeader;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace rangefinder::importer::kineto
