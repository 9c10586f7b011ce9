// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// The ground of the JSON reader: whitespace, strings and values, sixteen bytes at a time.
//
// Text is scanned in windows. Behind the last byte of a window stand kPadding zero bytes that may be read: a zero ends
// every run, so most loops need no check of their own, and a function that meets the end says kMore instead of judging
// what it has not seen. The caller brings more text and calls again from the same place.
//
// What is only skipped is checked for brackets and quotes that match, not for its commas and numbers: profilers write
// `N/A` and `NaN` where JSON has no word for it, and a trace must not be lost to an argument that is not needed.
namespace rangefinder::importer::kineto {

inline constexpr std::size_t kPadding = 64;
inline constexpr unsigned kMaxDepth = 256;

enum class Scan : std::uint8_t {
  kOk,
  kMore,     ///< the window ends inside; at the end of the input that means: cut off
  kBad,      ///< not JSON; Cursor::at stands at the offence
  kTooDeep,  ///< nested deeper than kMaxDepth
};

/// A place in a window of text. On kOk `at` stands behind what was read.
struct Cursor {
  const char* at = nullptr;
  const char* end = nullptr;
  const char* expected = "";  ///< with kBad: what should have stood at `at`
};

/// A string as it stands in the text, without its quotes.
struct RawText {
  std::string_view bytes;
  bool escaped = false;  ///< holds backslashes: see meaning()
};

constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
constexpr bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }

inline constexpr std::array<bool, 256> kWordBytes = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("+-./_#")) table[static_cast<unsigned char>(c)] = true;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
  return table;
}();
/// Bytes of numbers and of words such as null, NaN, -Infinity and N/A.
inline bool is_word_byte(char c) noexcept { return kWordBytes[static_cast<unsigned char>(c)]; }

/// kMore at the end of the window, else kBad with what was expected.
inline Scan unexpected(Cursor& cursor, const char* at, const char* expected) noexcept {
  if (at >= cursor.end) return Scan::kMore;
  cursor.at = at;
  cursor.expected = expected;
  return Scan::kBad;
}

const char* skip_space_run(const char* at) noexcept;

/// First byte that is not white space.
inline const char* skip_space(const char* at) noexcept {
  if (static_cast<unsigned char>(*at) > ' ') return at;
  if (*at == ' ' && static_cast<unsigned char>(at[1]) > ' ') return at + 1;
  return skip_space_run(at);
}

/// The closing quote of the string whose first byte is at `at`, or null when the window ends first.
inline const char* find_string_end(const char* at, const char* end, bool& escaped) noexcept {
  while (at < end) {
#if defined(__SSE2__)
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const int hits = _mm_movemask_epi8(
        _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))));
    if (hits == 0) {
      at += 16;
      continue;
    }
    at += __builtin_ctz(static_cast<unsigned>(hits));
#else
    while (at < end && *at != '"' && *at != '\\') ++at;
    if (at >= end) return nullptr;
#endif
    if (*at == '"') return at;
    escaped = true;
    at += 2;
  }
  return nullptr;
}

/// `at` stands at the opening quote.
inline Scan read_string(Cursor& cursor, const char*& at, RawText& out) noexcept {
  const char* const begin = at + 1;
  out.escaped = false;
  const char* const close = find_string_end(begin, cursor.end, out.escaped);
  if (close == nullptr) return Scan::kMore;
  out.bytes = {begin, static_cast<std::size_t>(close - begin)};
  at = close + 1;
  return Scan::kOk;
}

/// Newlines in [begin, end).
std::uint64_t count_newlines(const char* begin, const char* end) noexcept;

/// Moves `at` past one value of any kind. `depth` is how many brackets are open around it.
Scan skip_value(Cursor& cursor, const char*& at, unsigned depth) noexcept;

/// Reads `"key" :` and the white space around it; `at` then stands at the value.
inline Scan read_key(Cursor& cursor, const char*& at, RawText& key) noexcept {
  if (const Scan scan = read_string(cursor, at, key); scan != Scan::kOk) return scan;
  if (at[0] == ':' && at[1] == ' ' && static_cast<unsigned char>(at[2]) > ' ') {
    at += 2;
    return Scan::kOk;
  }
  at = skip_space(at);
  if (*at != ':') return unexpected(cursor, at, "a colon");
  at = skip_space(at + 1);
  return Scan::kOk;
}

/// Behind a value inside an object: true when another member follows, `at` standing at its key; else `scan` says kOk
/// for the end of the object, or what is wrong.
inline bool next_member(Cursor& cursor, const char*& at, Scan& scan) noexcept {
  at = skip_space(at);
  if (*at == ',') {
    at = skip_space(at + 1);
    if (*at == '"') return true;
    if (*at != '}') {
      scan = unexpected(cursor, at, "a member's name in quotes");
      return false;
    }
  }
  if (*at != '}') {
    scan = unexpected(cursor, at, "a comma or a closing brace");
    return false;
  }
  ++at;
  scan = Scan::kOk;
  return false;
}

/// Calls `visit(key, at)` for each member of the object at `at`; `visit` moves `at` past the value and returns a Scan.
template <typename Visit>
Scan for_each_member(Cursor& cursor, const char*& at, Visit&& visit) {
  if (*at != '{') return unexpected(cursor, at, "an object");
  at = skip_space(at + 1);
  if (*at == '}') {
    ++at;
    return Scan::kOk;
  }
  if (*at != '"') return unexpected(cursor, at, "a member's name in quotes");
  Scan scan = Scan::kOk;
  do {
    RawText key;
    if (scan = read_key(cursor, at, key); scan != Scan::kOk) return scan;
    if (scan = visit(key, at); scan != Scan::kOk) return scan;
  } while (next_member(cursor, at, scan));
  return scan;
}

/// The same for the elements of the array at `at`.
template <typename Visit>
Scan for_each_element(Cursor& cursor, const char*& at, Visit&& visit) {
  if (*at != '[') return unexpected(cursor, at, "an array");
  at = skip_space(at + 1);
  while (*at != ']') {
    if (const Scan scan = visit(at); scan != Scan::kOk) return scan;
    at = skip_space(at);
    if (*at == ',') {
      at = skip_space(at + 1);
    } else if (*at != ']') {
      return unexpected(cursor, at, "a comma or a closing bracket");
    }
  }
  ++at;
  return Scan::kOk;
}

}  // namespace rangefinder::importer::kineto
