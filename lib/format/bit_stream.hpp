// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Bits in little-endian order: the first bit is the lowest of the first byte.
namespace rangefinder::format {

/// Writes bits to memory that must have room for them and for 8 bytes more.
class BitWriter {
 public:
  static constexpr unsigned kMaxAtOnce = 56;

  explicit BitWriter(std::byte* at) noexcept : at_(at) {}

  /// `bits` holds nothing above its lowest `count` (kMaxAtOnce at most).
  void put(std::uint64_t bits, unsigned count) noexcept {
    waiting_ |= bits << filled_;
    filled_ += count;
    std::memcpy(at_, &waiting_, sizeof waiting_);
    at_ += filled_ >> 3;
    waiting_ >>= filled_ & 56;
    filled_ &= 7;
  }
  /// Up to 64 bits.
  void put_wide(std::uint64_t bits, unsigned count) noexcept {
    constexpr unsigned kHalf = 32;
    if (count <= kHalf) return put(bits, count);
    put(bits & 0xFFFFFFFFu, kHalf);
    put(bits >> kHalf, count - kHalf);
  }

  /// Pads with zero bits to a whole byte; the end of what was written.
  std::byte* finish() noexcept { return at_ + (filled_ != 0 ? 1 : 0); }

 private:
  std::byte* at_;
  std::uint64_t waiting_ = 0;  // what is not yet in whole bytes
  unsigned filled_ = 0;        // bits of it, 0 to 7 between calls
};

/// Reads bits. Past the end it gives zeros, and `ok()` is false.
class BitReader {
 public:
  explicit BitReader(base::ByteView bytes) noexcept : bytes_(bytes) {}

  /// The next 56 bits or more, without taking them.
  std::uint64_t peek() const noexcept {
    const std::size_t byte = at_ >> 3;
    std::uint64_t word = 0;
    if (byte + sizeof word <= bytes_.size()) {
      std::memcpy(&word, bytes_.data() + byte, sizeof word);
    } else if (byte < bytes_.size()) {
      std::memcpy(&word, bytes_.data() + byte, bytes_.size() - byte);
    }
    return word >> (at_ & 7);
  }
  void skip(unsigned count) noexcept { at_ += count; }
  std::uint64_t get(unsigned count) noexcept {
    const std::uint64_t bits = peek() & ((std::uint64_t{1} << count) - 1);
    skip(count);
    return bits;
  }
  std::uint64_t get_wide(unsigned count) noexcept {
    constexpr unsigned kHalf = 32;
    if (count <= kHalf) return get(count);
    const std::uint64_t low = get(kHalf);
    return low | get(count - kHalf) << kHalf;
  }

  /// Nothing was read past the end.
  bool ok() const noexcept { return at_ <= bytes_.size() * 8; }
  /// All was read, but for the padding of the last byte.
  bool at_end() const noexcept { return ok() && (at_ + 7) / 8 == bytes_.size(); }

 private:
  base::ByteView bytes_;
  std::uint64_t at_ = 0;  // bits taken
};

}  // namespace rangefinder::format
