// SPDX-License-Identifier: MIT
#include "importer/kineto/scan.hpp"

namespace rangefinder::importer::kineto {
namespace {

/// Which brackets are open: a bit each, set for a brace.
class OpenBrackets {
 public:
  explicit OpenBrackets(unsigned depth) noexcept : base_(depth), depth_(depth) {}

  bool open(bool brace) noexcept {
    if (depth_ == kMaxDepth) return false;
    const std::uint64_t bit = std::uint64_t{1} << (depth_ & 63);
    std::uint64_t& word = words_[depth_ >> 6];
    word = brace ? word | bit : word & ~bit;
    ++depth_;
    return true;
  }
  bool close(bool brace) noexcept {
    --depth_;
    return ((words_[depth_ >> 6] >> (depth_ & 63) & 1) != 0) == brace;
  }
  bool empty() const noexcept { return depth_ == base_; }

 private:
  unsigned base_;
  unsigned depth_;
  std::uint64_t words_[kMaxDepth / 64] = {};
};

/// A bit for each of the next bytes (16, or 1 without SIMD) that opens or closes something: quotes and brackets.
#if defined(__SSE2__)
constexpr int kStep = 16;
unsigned structure_bits(const char* at) noexcept {
  const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  // '[' and '{' differ in bit 5 alone, as do ']' and '}'.
  const __m128i folded = _mm_or_si128(block, _mm_set1_epi8(0x20));
  const __m128i brackets =
      _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')), _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(brackets, _mm_cmpeq_epi8(block, _mm_set1_epi8('"')))));
}
#else
constexpr int kStep = 1;
unsigned structure_bits(const char* at) noexcept {
  return *at == '"' || *at == '{' || *at == '}' || *at == '[' || *at == ']' ? 1 : 0;
}
#endif

/// `at` stands at an opening bracket.
Scan skip_composite(Cursor& cursor, const char*& at, unsigned depth) noexcept {
  OpenBrackets brackets(depth);
  while (at < cursor.end) {
    unsigned bits = structure_bits(at);
    const char* const block = at;
    at += kStep;
    for (; bits != 0; bits &= bits - 1) {
      const char* const hit = block + __builtin_ctz(bits);
      if (*hit == '"') {
        bool escaped = false;
        const char* const close = find_string_end(hit + 1, cursor.end, escaped);
        if (close == nullptr) return Scan::kMore;
        at = close + 1;
        const std::ptrdiff_t within = at - block;
        if (within >= kStep) break;  // the rest of this block belongs to the string
        bits &= ~0u << (within - 1);
        at = block + kStep;
      } else if (*hit == '{' || *hit == '[') {
        if (!brackets.open(*hit == '{')) {
          cursor.at = hit;
          return Scan::kTooDeep;
        }
      } else {
        if (!brackets.close(*hit == '}')) return unexpected(cursor, hit, "the bracket that matches");
        if (brackets.empty()) {
          at = hit + 1;
          return Scan::kOk;
        }
      }
    }
  }
  return Scan::kMore;
}

}  // namespace

const char* skip_space_run(const char* at) noexcept {
#if defined(__SSE2__)
  for (;; at += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i blank =
        _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\n')));
    const __m128i rare =
        _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('\t')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\r')));
    const unsigned other = ~static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(blank, rare))) & 0xFFFFu;
    if (other != 0) return at + __builtin_ctz(other);
  }
#else
  while (is_space(*at)) ++at;
  return at;
#endif
}

std::uint64_t count_newlines(const char* begin, const char* end) noexcept {
  std::uint64_t count = 0;
#if defined(__SSE2__)
  const auto newlines_at = [](const char* at) {
    return _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), _mm_set1_epi8('\n'));
  };
  while (end - begin >= 64) {
    // A byte counts up to 255, so sums are taken out after 63 times four.
    __m128i sums = _mm_setzero_si128();
    for (int round = 0; round < 63 && end - begin >= 64; ++round, begin += 64) {
      const __m128i low = _mm_add_epi8(newlines_at(begin), newlines_at(begin + 16));
      const __m128i high = _mm_add_epi8(newlines_at(begin + 32), newlines_at(begin + 48));
      sums = _mm_sub_epi8(sums, _mm_add_epi8(low, high));
    }
    const __m128i halves = _mm_sad_epu8(sums, _mm_setzero_si128());
    count += static_cast<std::uint64_t>(_mm_cvtsi128_si32(halves)) +
             static_cast<std::uint64_t>(_mm_extract_epi16(halves, 4));
  }
#endif
  for (; begin != end; ++begin) count += *begin == '\n' ? 1 : 0;
  return count;
}

Scan skip_value(Cursor& cursor, const char*& at, unsigned depth) noexcept {
  switch (*at) {
    case '"': {
      RawText ignored;
      return read_string(cursor, at, ignored);
    }
    case '{':
    case '[':
      return skip_composite(cursor, at, depth);
    default:
      break;
  }
  const char* const begin = at;
  while (is_word_byte(*at)) ++at;
  if (at >= cursor.end) return Scan::kMore;
  if (at == begin) return unexpected(cursor, at, "a value");
  return Scan::kOk;
}

}  // namespace rangefinder::importer::kineto
