// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

// Little-endian bytes, variable-length integers, and a reader that cannot run past its end.
namespace rangefinder::base {

static_assert(std::endian::native == std::endian::little, "captures are little-endian and read in place");

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView as_bytes(std::string_view text) noexcept { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view as_text(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Maps small magnitudes of either sign to small unsigned numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

inline constexpr std::size_t kMaxVarintBytes = 10;

/// LEB128: seven bits a byte, least significant first. Writes at most kMaxVarintBytes; returns the end.
inline std::byte* put_varint(std::byte* out, std::uint64_t value) noexcept {
  while (value >= 0x80) {
    *out++ = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<std::byte>(value);
  return out;
}

/// The same, writing four bytes at once where they are enough: whether a number takes one byte or three is then no
/// branch, which a processor mispredicts for times. There must be room for four.
inline std::byte* put_short_varint(std::byte* out, std::uint64_t value) noexcept {
  if (value >> 28 != 0) [[unlikely]]
    return put_varint(out, value);
  auto spread = static_cast<std::uint32_t>(value);
  spread = (spread & 0x3FFFu) | (spread & 0xFFFC000u) << 2;       // 14 bits in each half
  spread = (spread & 0x007F007Fu) | (spread & 0x3F803F80u) << 1;  // 7 in each byte
  const unsigned last = (static_cast<unsigned>(std::bit_width(spread | 1)) - 1) / 8;
  spread |= 0x80808080u & ((1u << 8 * last) - 1);
  std::memcpy(out, &spread, sizeof spread);
  return out + last + 1;
}

inline void append_varint(Bytes& out, std::uint64_t value) {
  std::byte buffer[kMaxVarintBytes];
  out.insert(out.end(), buffer, put_varint(buffer, value));
}

template <std::integral T>
void append_value(Bytes& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

inline void append_bytes(Bytes& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

/// Reads values off the front of a byte view. After the first read past the end, or of an overlong varint, every
/// further read gives zero and `ok()` is false: check once, at the end.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) noexcept : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const noexcept { return ok_; }
  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  template <std::integral T>
  T value() noexcept {
    T out{};
    if (left() < sizeof out) return fail(), T{};
    std::memcpy(&out, at_, sizeof out);
    at_ += sizeof out;
    return out;
  }

  std::uint64_t varint() noexcept {
    if (at_ != end_ && static_cast<std::uint8_t>(*at_) < 0x80) return static_cast<std::uint64_t>(*at_++);
    std::uint64_t out = 0;
    for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint64_t>(*at_++);
      if (shift == 63 && byte > 1) break;
      out |= (byte & 0x7F) << shift;
      if (byte < 0x80) return out;
    }
    fail();
    return 0;
  }

  ByteView bytes(std::size_t count) noexcept {
    if (left() < count) return fail(), ByteView{};
    const ByteView out{at_, count};
    at_ += count;
    return out;
  }

 private:
  void fail() noexcept {
    ok_ = false;
    at_ = end_;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

}  // namespace rangefinder::base
