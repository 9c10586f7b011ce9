// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The bytes of the page's data: what README.md calls varint, zigzag, f64, base64 and the JSON of the index.
namespace rangefinder::html {

/// What the page, whose numbers are doubles, takes for an unsigned and for a signed integer.
inline constexpr std::uint64_t kMostUnsigned = (std::uint64_t{1} << 53) - 1;
inline constexpr std::int64_t kMostSigned = std::int64_t{1} << 52;

/// LEB128; larger numbers become kMostUnsigned.
void append_varint(std::string& out, std::uint64_t value);
/// Likewise, of a magnitude up to kMostSigned.
void append_zigzag(std::string& out, std::int64_t value);
/// Eight bytes, the lowest first.
void append_f64(std::string& out, double value);

std::string base64(std::string_view bytes);
/// One member, without a name and a time: the same bytes give the same stream. Throws std::bad_alloc.
std::string gzip(std::string_view bytes);

/// A string of JSON with its quotes that can stand inside of an element `script`: valid UTF-8 without `<`, `>` and `&`.
void append_json(std::string& out, std::string_view text);
std::string json_of(std::string_view text);

/// The text as UTF-8, each byte that is none as U+FFFD; of more than `most` bytes the first, with "…" at the end.
std::string utf8_of(std::string_view text, std::size_t most);

/// `later` - `earlier`, at least 0 and at most kMostSigned: files can claim any time.
std::int64_t since(std::int64_t earlier, std::int64_t later) noexcept;

}  // namespace rangefinder::html
