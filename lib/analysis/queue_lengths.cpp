// SPDX-License-Identifier: MIT
#include "analysis/queue_lengths.hpp"

#include "analysis/spread.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rangefinder::analysis {
namespace {

std::int64_t time_of(std::int64_t time_ns) noexcept { return time_ns; }
std::int64_t time_of(const QueueEvents::Launch& launch) noexcept { return launch.time_ns; }

/// How many of the events, which are in order, have passed; asked with rising times.
template <typename Event>
class Passed {
 public:
  explicit Passed(std::span<const Event> events) : events_(events) {}
  std::size_t until(std::int64_t now_ns) noexcept {
    while (passed_ < events_.size() && time_of(events_[passed_]) <= now_ns) ++passed_;
    return passed_;
  }
  /// Null: none follows.
  const Event* next() const noexcept { return passed_ < events_.size() ? &events_[passed_] : nullptr; }
  void bound(std::int64_t& next_ns) const noexcept {
    if (const Event* const event = next()) next_ns = std::min(next_ns, time_of(*event));
  }

 private:
  std::span<const Event> events_;
  std::size_t passed_ = 0;
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

CoveredTime::CoveredTime(std::vector<Span> spans) : spans_(std::move(spans)) {
  make_disjoint(spans_);
  before_.reserve(spans_.size());
  std::int64_t total = 0;
  for (const Span& span : spans_) {
    before_.push_back(total);
    total += span.end - span.begin;
  }
}

std::int64_t CoveredTime::until(std::int64_t time_ns) const noexcept {
  const auto after =
      std::partition_point(spans_.begin(), spans_.end(), [&](const Span& span) { return span.begin < time_ns; });
  if (after == spans_.begin()) return 0;
  const Span& span = *(after - 1);
  return before_[static_cast<std::size_t>(after - spans_.begin()) - 1] + std::min(time_ns, span.end) - span.begin;
}

QueueLengths queue_lengths(const QueueEvents& events, const CoveredTime& recorded,
                           std::span<const CoveredTime> host_waits) {
  QueueLengths lengths;
  if (events.run_begins.empty()) return lengths;
  std::int64_t now_ns = events.run_begins.front();
  if (!events.launches.empty()) now_ns = std::min(now_ns, events.launches.front().time_ns);
  Passed<QueueEvents::Launch> launched(events.launches);
  Passed<std::int64_t> begun(events.begins), started(events.run_begins), ended(events.run_ends);
  std::vector<std::int64_t> time_at;  // by length of the queue
  const std::int64_t end_ns = events.run_ends.back();
  while (now_ns < end_ns) {
    const std::size_t waiting = launched.until(now_ns) - begun.until(now_ns);
    const bool runs = started.until(now_ns) != ended.until(now_ns);
    std::int64_t next_ns = end_ns;
    launched.bound(next_ns);
    for (const Passed<std::int64_t>* times : {&begun, &started, &ended}) times->bound(next_ns);
    const std::int64_t length_ns = recorded.between(now_ns, next_ns);
    if (waiting >= time_at.size()) time_at.resize(waiting + 1);
    time_at[waiting] += length_ns;
    lengths.total_ns += length_ns;
    if (waiting == 0 && !runs) {
      lengths.idle_ns += length_ns;
      const QueueEvents::Launch* const next = launched.next();
      if (next != nullptr && next->time_ns == next_ns) {
        const bool has_waits = next->thread < host_waits.size();
        lengths.starved_ns += length_ns - (has_waits ? host_waits[next->thread].between(now_ns, next_ns) : 0);
      }
    }
    now_ns = next_ns;
  }
  summarise(lengths, time_at);
  return lengths;
}

}  // namespace rangefinder::analysis
