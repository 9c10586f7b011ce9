// SPDX-License-Identifier: MIT
#include "base/compress.hpp"

#include <zstd.h>

namespace rangefinder::base {
namespace {

// To begin a frame takes as long as to pack thousands of bytes.
constexpr std::size_t kFewBytes = 1024;

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
