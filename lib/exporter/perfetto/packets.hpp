// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/text_output.hpp"
#include "exporter/perfetto/fields.hpp"

#include <protozero/pbf_writer.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::perfetto {

// What most packets consist of is put together without protozero: by its strings an export took twice as long.

/// Most bytes of a number with its tag.
inline constexpr std::size_t kMaxNumberBytes = 15;

constexpr std::size_t varint_bytes(std::uint64_t value) noexcept {
  return static_cast<std::size_t>(std::bit_width(value | 1) + 6) / 7;
}
inline char* put_varint(char* at, std::uint64_t value) noexcept {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}
inline char* put_number(char* at, Tag tag, std::uint64_t value) noexcept {
  return put_varint(put_varint(at, tag << 3 | static_cast<Tag>(protozero::pbf_wire_type::varint)), value);
}
inline char* put_double(char* at, Tag tag, double value) noexcept {
  at = put_varint(at, tag << 3 | static_cast<Tag>(protozero::pbf_wire_type::fixed64));
  auto bits = std::bit_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof bits; ++i, bits >>= 8) *at++ = static_cast<char>(bits);
  return at;
}
/// Its bytes follow.
inline char* put_length(char* at, Tag tag, std::uint64_t bytes) noexcept {
  return put_varint(put_varint(at, tag << 3 | static_cast<Tag>(protozero::pbf_wire_type::length_delimited)), bytes);
}

/// Whose packet, and when.
struct PacketHead {
  std::uint64_t timestamp = 0;
  std::uint32_t clock = 0;  ///< 0: that of the sequence
  std::uint32_t sequence = 0;
};

/// A trace is a list of packets, each with its length before it: what is cut off ends in the middle of one packet, and
/// all before it can be read.
class Packets {
 public:
  explicit Packets(chrome::TextOutput& out) noexcept : out_(out) {}

  void write(std::string_view packet);
  /// With a message in three parts, and before it what the sequence introduces.
  void write(const PacketHead& head, std::string_view interned, Tag tag, std::string_view start,
             std::string_view middle, std::string_view end);
  /// Of nothing but its time.
  void write(const PacketHead& head);

 private:
  chrome::TextOutput& out_;
  std::string large_;
};

/// Appends a message as a field of another one.
inline void add_message(std::string& to, Tag tag, std::string_view message) {
  protozero::pbf_writer(to).add_message(tag, message.data(), message.size());
}

/// Appends a text as a field: UTF-8, with U+FFFD for each byte that is not.
void add_text(std::string& to, Tag tag, std::string_view text);

}  // namespace rangefinder::perfetto
