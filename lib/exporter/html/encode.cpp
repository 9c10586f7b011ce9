// SPDX-License-Identifier: MIT
#include "exporter/html/encode.hpp"

#include "base/text.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace rangefinder::html {

void append_varint(std::string& out, std::uint64_t value) {
  value = std::min(value, kMostUnsigned);
  for (; value >= 128; value >>= 7) out += static_cast<char>(128 | (value & 127));
  out += static_cast<char>(value);
}

void append_zigzag(std::string& out, std::int64_t value) {
  value = std::clamp(value, -kMostSigned, kMostSigned - 1);
  const auto positive = static_cast<std::uint64_t>(value >= 0 ? value : -(value + 1));
  append_varint(out, value >= 0 ? 2 * positive : 2 * positive + 1);
}

void append_f64(std::string& out, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  for (int byte = 0; byte < 8; ++byte, bits >>= 8) out += static_cast<char>(bits & 255);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) out += i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::string gzip(std::string_view bytes) {
  constexpr int kGzipWindow = 15 + 16;  // 32 KiB, with a gzip header
  constexpr int kLevel = 6, kMemory = 9;
  z_stream stream{};
  if (::deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out;
  char piece[std::size_t{64} << 10];
  int result = Z_OK;
  do {
    // zlib counts in 32 bits.
    const std::size_t size = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(size);
    bytes.remove_prefix(size);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(piece);
      stream.avail_out = sizeof piece;
      result = ::deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
      out.append(piece, sizeof piece - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!bytes.empty() && result != Z_STREAM_END);
  ::deflateEnd(&stream);
  return out;
}

void append_json(std::string& out, std::string_view text) {
  std::string escaped;
  base::append_json_string(escaped, text);
  for (const char c : escaped) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
}

std::string json_of(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

std::string utf8_of(std::string_view text, std::size_t most) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD", kMore = "\xE2\x80\xA6";
  std::string out;
  while (!text.empty()) {
    char32_t ignored = 0;
    const std::size_t plain = std::min(base::plain_ascii(text), most + 1);
    const std::size_t length = plain != 0 ? plain : base::decode_utf8(text, ignored);
    const std::string_view piece = length == 0 ? kReplacement : text.substr(0, length);
    if (out.size() + piece.size() > most) {
      if (plain != 0) out.append(piece.substr(0, most - out.size()));
      return out.append(kMore);
    }
    out.append(piece);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::int64_t since(std::int64_t earlier, std::int64_t later) noexcept {
  if (later <= earlier) return 0;
  const std::uint64_t apart = static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier);
  return static_cast<std::int64_t>(std::min(apart, static_cast<std::uint64_t>(kMostSigned - 1)));
}

}  // namespace rangefinder::html
