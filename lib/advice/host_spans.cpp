// SPDX-License-Identifier: MIT
#include "advice/host_spans.hpp"

#include "analysis/device_states.hpp"
#include "analysis/spread.hpp"

#include <algorithm>

namespace rangefinder::advice {
namespace {

std::int64_t within(std::int64_t time_ns) noexcept {
  return std::clamp(time_ns, -analysis::kFarthestNs, analysis::kFarthestNs);
}

}  // namespace

void HostSpans::add(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) {
  if (thread == kNone || within(begin_ns) >= within(end_ns)) return;
  if (threads_.size() <= thread) threads_.resize(std::size_t{thread} + 1);
  threads_[thread].spans.push_back({within(begin_ns), within(end_ns)});
}

void HostSpans::add(const HostSpans& other) {
  if (threads_.size() < other.threads_.size()) threads_.resize(other.threads_.size());
  for (std::size_t thread = 0; thread < other.threads_.size(); ++thread) {
    const std::vector<analysis::Span>& spans = other.threads_[thread].spans;
    threads_[thread].spans.insert(threads_[thread].spans.end(), spans.begin(), spans.end());
  }
}

void HostSpans::finish() {
  for (Thread& thread : threads_) {
    analysis::make_disjoint(thread.spans);
    thread.before_ns.clear();
    thread.before_ns.reserve(thread.spans.size());
    std::int64_t total = 0;
    for (const analysis::Span& span : thread.spans) {
      thread.before_ns.push_back(total);
      total = analysis::saturating_add(total, span.end - span.begin);
    }
  }
}

std::int64_t HostSpans::covered_until(const Thread& thread, std::int64_t time_ns) const noexcept {
  const auto after = std::partition_point(thread.spans.begin(), thread.spans.end(),
                                          [time_ns](const analysis::Span& span) { return span.begin < time_ns; });
  if (after == thread.spans.begin()) return 0;
  const analysis::Span& span = *(after - 1);
  return thread.before_ns[static_cast<std::size_t>(after - thread.spans.begin()) - 1] + std::min(time_ns, span.end) -
         span.begin;
}

std::int64_t HostSpans::covered_ns(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
  if (thread >= threads_.size() || within(begin_ns) >= within(end_ns)) return 0;
  return covered_until(threads_[thread], within(end_ns)) - covered_until(threads_[thread], within(begin_ns));
}

std::span<const analysis::Span> HostSpans::of(ThreadIndex thread) const noexcept {
  return thread < threads_.size() ? std::span<const analysis::Span>(threads_[thread].spans)
                                  : std::span<const analysis::Span>();
}

std::int64_t HostSpans::total_ns() const noexcept {
  std::int64_t total = 0;
  for (const Thread& thread : threads_)
    for (const analysis::Span& span : thread.spans) total = analysis::saturating_add(total, span.end - span.begin);
  return total;
}

}  // namespace rangefinder::advice
