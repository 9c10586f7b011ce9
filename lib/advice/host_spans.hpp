// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spans.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::advice {

/// Stretches of threads' time, to be asked how much of another stretch they cover.
///
///   HostSpans spans;
///   spans.add(thread, 100, 200);
///   spans.finish();
///   spans.covered_ns(thread, 150, 300);  // 50
class HostSpans {
 public:
  /// Nothing for threads that are not known, and for what ends before it begins.
  void add(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns);
  /// Those of `other`, which is finished or not.
  void add(const HostSpans& other);
  /// Makes them disjoint and ordered. Before any question, and after the last `add`.
  void finish();

  bool empty() const noexcept { return threads_.empty(); }
  /// Of [begin, end), the time that they cover. O(log n).
  std::int64_t covered_ns(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) const noexcept;
  /// Of one thread, disjoint and in order.
  std::span<const analysis::Span> of(ThreadIndex thread) const noexcept;
  /// Their lengths, added up over threads.
  std::int64_t total_ns() const noexcept;

 private:
  struct Thread {
    std::vector<analysis::Span> spans;
    std::vector<std::int64_t> before_ns;  // covered before each of them
  };
  std::int64_t covered_until(const Thread& thread, std::int64_t time_ns) const noexcept;

  std::vector<Thread> threads_;
};

}  // namespace rangefinder::advice
