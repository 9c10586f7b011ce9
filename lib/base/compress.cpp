// SPDX-License-Identifier: MIT
#include "base/compress.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rangefinder::base {
namespace {

// To begin a frame takes as long as to pack thousands of bytes.
constexpr std::size_t kFewBytes = 1024;

// What a frame is made of: RFC 8878, sections 3.1.1.1 and 3.1.1.2.
constexpr std::uint32_t kFrameMagic = 0xFD2FB528;
constexpr std::uint8_t kOneSegment = 0x20, kTwoSizeBytes = 0x40, kFourSizeBytes = 0x80;
constexpr std::size_t kTwoSizeBytesFrom = 256;
constexpr std::size_t kMaxBlockBytes = std::size_t{128} << 10;
enum class Block : std::uint32_t { kRaw = 0, kRun = 1 };

void append_block_header(Bytes& out, Block type, std::size_t bytes, bool last) {
  const std::uint32_t header = static_cast<std::uint32_t>(bytes) << 3 | static_cast<std::uint32_t>(type) << 1 | last;
  append_bytes(out, std::as_bytes(std::span(&header, 1)).first(3));
}

void append_frame_header(Bytes& out, std::size_t bytes) {
  append_value(out, kFrameMagic);
  if (bytes - kTwoSizeBytesFrom <= 0xFFFF) {
    append_value(out, static_cast<std::uint8_t>(kOneSegment | kTwoSizeBytes));
    append_value(out, static_cast<std::uint16_t>(bytes - kTwoSizeBytesFrom));
  } else {
    append_value(out, static_cast<std::uint8_t>(kOneSegment | kFourSizeBytes));
    append_value(out, static_cast<std::uint32_t>(bytes));
  }
}

}  // namespace

Compressor::Compressor() : context_(ZSTD_createCCtx()) {}
Compressor::~Compressor() { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context_)); }

std::size_t Compressor::append_compressed(Bytes& out, ByteView raw, int level, Matches matches) {
  auto* const context = static_cast<ZSTD_CCtx*>(context_);
  if (context == nullptr || raw.size() < kFewBytes) return 0;
  // 0: what the level says.
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, matches == Matches::kLong ? 7 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, matches == Matches::kLong ? 10 : 0);
  const std::size_t before = out.size();
  // Room for one byte less than the input: a result that does not fit is one not worth having.
  out.resize(before + raw.size() - 1);
  const std::size_t packed = ZSTD_compress2(context, out.data() + before, raw.size() - 1, raw.data(), raw.size());
  if (ZSTD_isError(packed)) {
    out.resize(before);
    return 0;
  }
  out.resize(before + packed);
  return packed;
}

std::size_t Compressor::append_run(Bytes& out, ByteView raw) {
  static_assert(kFewBytes >= kTwoSizeBytesFrom && kFewBytes > kMaxVarintBytes);
  if (raw.size() < kFewBytes) return 0;
  const ByteView behind = raw.subspan(kMaxVarintBytes);  // the first number of differences is another
  if (std::memcmp(behind.data(), behind.data() + 1, behind.size() - 1) != 0) return 0;
  const std::size_t before = out.size();
  append_frame_header(out, raw.size());
  ByteView head = raw.first(kMaxVarintBytes);
  while (!head.empty() && head.back() == raw.back()) head = head.first(head.size() - 1);
  if (!head.empty()) {
    append_block_header(out, Block::kRaw, head.size(), false);
    append_bytes(out, head);
  }
  for (std::size_t left = raw.size() - head.size(); left > 0;) {
    const std::size_t bytes = std::min(left, kMaxBlockBytes);
    left -= bytes;
    append_block_header(out, Block::kRun, bytes, left == 0);
    out.push_back(raw.back());
  }
  return out.size() - before;
}

Decompressor::Decompressor() : context_(ZSTD_createDCtx()) {}
Decompressor::~Decompressor() { ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context_)); }

Status Decompressor::decompress(ByteView packed, std::span<std::byte> out) {
  if (context_ == nullptr) return Error(ErrorCode::kInternal, "zstd: no memory for a decompression context");
  const std::size_t size =
      ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(context_), out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(size)) return Error(ErrorCode::kUnreadable, std::string("zstd: ") + ZSTD_getErrorName(size));
  if (size != out.size()) {
    return Error(ErrorCode::kUnreadable,
                 "zstd: frame holds " + std::to_string(size) + " bytes, its header says " + std::to_string(out.size()));
  }
  return {};
}

}  // namespace rangefinder::base
