// SPDX-License-Identifier: MIT
#include "analysis/spans.hpp"

#include <algorithm>

namespace rangefinder::analysis {

void make_disjoint(std::vector<Span>& spans) {
  const auto earlier = [](const Span& a, const Span& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.end != b.end ? a.end > b.end : a.kind < b.kind;
  };
  if (!std::is_sorted(spans.begin(), spans.end(), earlier)) std::sort(spans.begin(), spans.end(), earlier);
  std::size_t kept = 0;
  for (Span span : spans) {
    if (kept != 0) span.begin = std::max(span.begin, spans[kept - 1].end);
    if (span.end <= span.begin) continue;
    if (kept != 0 && spans[kept - 1].end == span.begin && spans[kept - 1].kind == span.kind)
      spans[kept - 1].end = span.end;
    else
      spans[kept++] = span;
  }
  spans.resize(kept);
}

std::vector<Span> without(std::span<const Span> spans, std::span<const Span> taken) {
  std::vector<Span> left;
  std::size_t first = 0;
  for (Span span : spans) {
    while (first < taken.size() && taken[first].end <= span.begin) ++first;
    for (std::size_t at = first; at < taken.size() && taken[at].begin < span.end; ++at) {
      if (taken[at].begin > span.begin) left.push_back({span.begin, taken[at].begin, span.kind});
      span.begin = std::min(span.end, taken[at].end);
    }
    if (span.begin < span.end) left.push_back(span);
  }
  return left;
}

}  // namespace rangefinder::analysis
