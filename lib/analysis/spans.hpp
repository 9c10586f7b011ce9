// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// [begin, end) of some kind.
struct Span {
  std::int64_t begin;
  std::int64_t end;
  std::uint8_t kind = 0;
};

/// Makes spans disjoint and ordered. Of two that overlap, the one that began first (of those the longer) keeps what
/// both hold; neighbours of one kind become one. O(n log n).
void make_disjoint(std::vector<Span>& spans);

/// What of `spans` is in none of `taken`; both disjoint and ordered.
std::vector<Span> without(std::span<const Span> spans, std::span<const Span> taken);

/// Calls `use(i, span, length)` for each of `frames` and each span that it shares time with; both disjoint and ordered.
template <typename Frame, typename Use>
void for_each_overlap(std::span<const Frame> frames, std::span<const Span> spans, Use use) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    while (first < spans.size() && spans[first].end <= frames[i].begin_ns) ++first;
    for (std::size_t at = first; at < spans.size() && spans[at].begin < frames[i].end_ns; ++at) {
      const std::int64_t begin = spans[at].begin > frames[i].begin_ns ? spans[at].begin : frames[i].begin_ns;
      const std::int64_t end = spans[at].end < frames[i].end_ns ? spans[at].end : frames[i].end_ns;
      if (begin < end) use(i, spans[at], end - begin);
    }
  }
}

}  // namespace rangefinder::analysis
