// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <rangefinder/result.hpp>

#include <utility>

namespace rangefinder::base {

/// Zstandard with a reusable context; one per thread.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  /// Where repetitions are looked for. kLong is for short symbols of a pattern: half the time, and hardly a byte more.
  enum class Matches { kAny, kLong };

  /// Appends the compressed form, a frame of Zstandard, and returns its size, or appends nothing and returns 0 when
  /// that would not be smaller.
  std::size_t append_compressed(Bytes& out, ByteView raw, int level, Matches matches = Matches::kAny);
  /// The same for bytes that are all equal but for a few at the begin, and 0 for others: columns of one value are such,
  /// and a compressor takes longer to find that out than they took to write.
  static std::size_t append_run(Bytes& out, ByteView raw);

 private:
  void* context_;
};

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(Decompressor&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
  Decompressor& operator=(Decompressor&& other) noexcept {
    std::swap(context_, other.context_);
    return *this;
  }

  /// Fills `out` exactly; an error when the frame is damaged or of another size.
  Status decompress(ByteView packed, std::span<std::byte> out);

 private:
  void* context_;
};

}  // namespace rangefinder::base
