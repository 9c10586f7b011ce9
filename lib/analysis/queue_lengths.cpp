// SPDX-License-Identifier: MIT
#include "analysis/queue_lengths.hpp"

#include "analysis/spread.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace rangefinder::analysis {
namespace {

/// How many of the times, which are in order, have passed; asked with rising times.
class Passed {
 public:
  explicit Passed(std::span<const std::int64_t> times) : times_(times) {}
  std::size_t until(std::int64_t now_ns) noexcept {
    while (passed_ < times_.size() && times_[passed_] <= now_ns) ++passed_;
    return passed_;
  }
  void bound(std::int64_t& next_ns) const noexcept {
    if (passed_ < times_.size()) next_ns = std::min(next_ns, times_[passed_]);
  }

 private:
  std::span<const std::int64_t> times_;
  std::size_t passed_ = 0;
};

/// Whether a moment is in one of the spans; asked with rising times.
class Inside {
 public:
  explicit Inside(std::span<const Span> spans) : spans_(spans) {}
  bool at(std::int64_t now_ns) noexcept {
    while (at_ < spans_.size() && spans_[at_].end <= now_ns) ++at_;
    return at_ < spans_.size() && spans_[at_].begin <= now_ns;
  }
  void bound(std::int64_t now_ns, std::int64_t& next_ns) const noexcept {
    if (at_ < spans_.size())
      next_ns = std::min(next_ns, spans_[at_].begin <= now_ns ? spans_[at_].end : spans_[at_].begin);
  }

 private:
  std::span<const Span> spans_;
  std::size_t at_ = 0;
};

/// The least length that the queue did not exceed for that share of the time.
std::uint64_t percentile_of(const std::vector<std::int64_t>& time_at, std::int64_t total_ns, int percent) noexcept {
  __int128 passed = 0;
  for (std::size_t length = 0; length < time_at.size(); ++length) {
    passed += time_at[length];
    if (passed * 100 >= static_cast<__int128>(total_ns) * percent) return length;
  }
  return time_at.empty() ? 0 : time_at.size() - 1;
}

void summarise(QueueLengths& lengths, const std::vector<std::int64_t>& time_at) {
  if (lengths.total_ns <= 0) return;
  __int128 sum = 0;
  for (std::size_t length = 0; length < time_at.size(); ++length) {
    sum += static_cast<__int128>(length) * time_at[length];
    if (time_at[length] != 0) lengths.max = length;
  }
  lengths.empty_ns = time_at.front();
  lengths.mean_hundredths = rounded_quotient(sum, lengths.total_ns, 2);
  lengths.p50 = percentile_of(time_at, lengths.total_ns, 50);
  lengths.p95 = percentile_of(time_at, lengths.total_ns, 95);
}

}  // namespace

QueueLengths queue_lengths(const QueueEvents& events) {
  QueueLengths lengths;
  if (events.run_begins.empty()) return lengths;
  std::int64_t now_ns = events.run_begins.front();
  if (!events.launches.empty()) now_ns = std::min(now_ns, events.launches.front());
  Passed launched(events.launches), begun(events.begins), started(events.run_begins), ended(events.run_ends);
  Inside host_waits(events.host_waits), recorded(events.recorded);
  std::vector<std::int64_t> time_at;  // by length of the queue
  const std::int64_t end_ns = events.run_ends.back();
  while (now_ns < end_ns) {
    const std::size_t waiting = launched.until(now_ns) - begun.until(now_ns);
    const bool runs = started.until(now_ns) != ended.until(now_ns);
    const bool host_waits_now = host_waits.at(now_ns);
    const bool is_recorded = recorded.at(now_ns);
    std::int64_t next_ns = end_ns;
    for (const Passed* times : {&launched, &begun, &started, &ended}) times->bound(next_ns);
    host_waits.bound(now_ns, next_ns);
    recorded.bound(now_ns, next_ns);
    const std::int64_t length_ns = next_ns - now_ns;
    now_ns = next_ns;
    if (!is_recorded) continue;
    if (waiting >= time_at.size()) time_at.resize(waiting + 1);
    time_at[waiting] += length_ns;
    lengths.total_ns += length_ns;
    if (waiting != 0 || runs) continue;
    lengths.idle_ns += length_ns;
    if (!host_waits_now) lengths.starved_ns += length_ns;
  }
  summarise(lengths, time_at);
  return lengths;
}

}  // namespace rangefinder::analysis
