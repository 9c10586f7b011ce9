// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Text that may be hostile: names come out of other people's programs and files.
namespace rangefinder::base {

/// Appends `text` as the inside of a JSON string: strict UTF-8 (a byte that is not becomes U+FFFD), escapes for all
/// that could steer a terminal, which `printable` lists, and nothing else changed.
void append_json_escaped(std::string& out, std::string_view text);

/// The same with the quotes.
void append_json_string(std::string& out, std::string_view text);

/// Appends JSON without the white space between its tokens; strings stay as they are.
void append_compact_json(std::string& out, std::string_view json);

/// For a terminal: C0, C1, DEL and bidirectional controls shown as \xNN or \u{NNNN}, invalid UTF-8 as \xNN.
std::string printable(std::string_view text);

/// An RFC 4180 field, quoted only where it must be: strict UTF-8 (a byte that is not becomes U+FFFD), control
/// characters as they are. With `defuse`, a text that a spreadsheet would run as a formula (leading = + - @ tab or
/// return) gets a leading apostrophe; numbers are never touched.
void append_csv_field(std::string& out, std::string_view text, bool defuse);

/// How many bytes there are before the first that is not plain ASCII, 0x20 to 0x7E: most names have no other.
std::size_t plain_ascii(std::string_view text) noexcept;

/// Decodes the UTF-8 sequence at the front of `text`, which is not empty. Returns its length, or 0 when it is not
/// valid.
std::size_t decode_utf8(std::string_view text, char32_t& code_point) noexcept;

/// Each percent sign twice: for where one begins a placeholder.
std::string with_doubled_percents(std::string_view text);

/// Columns a text takes on a terminal; wide East Asian characters count two, combining marks none.
std::size_t display_width(std::string_view printable_text) noexcept;
/// How many bytes of a text take at most so many columns: whole characters.
std::size_t bytes_within(std::string_view printable_text, std::size_t columns) noexcept;

/// The candidate nearest to `word` by edits, for "did you mean"; empty when none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// 1234567 -> "1,234,567".
std::string with_thousands(std::uint64_t value);

}  // namespace rangefinder::base
