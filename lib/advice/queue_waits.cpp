// SPDX-License-Identifier: MIT
#include "advice/queue_waits.hpp"

#include "analysis/medians.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace rangefinder::advice {
namespace {

// CUDA queues 1,024 launches of a stream. Streams can share a queue, so that one is full with fewer of its own.
constexpr std::size_t kLongQueue = 512;
// A call that takes so many times as long as most does more than to launch.
constexpr std::int64_t kLong = 4;

struct Launched {
  StreamIndex stream;
  std::int64_t begin_ns;  ///< of its first work
  CallIndex call;
};

/// By stream, then begin; of a launch with several activities (a CUDA graph) the first.
std::vector<Launched> launched_work(const Timeline& timeline) {
  std::vector<Launched> out;
  std::vector<bool> seen(timeline.launches.size());
  std::vector<ActivityIndex> order(timeline.activities.size());
  for (ActivityIndex row{0}; row < order.size(); ++row) order[row] = row;
  std::sort(order.begin(), order.end(), [&](ActivityIndex a, ActivityIndex b) {
    return std::tuple(timeline.activities.stream[a], timeline.activities.begin_ns[a], a) <
           std::tuple(timeline.activities.stream[b], timeline.activities.begin_ns[b], b);
  });
  for (const ActivityIndex activity : order) {
    const LaunchIndex launch = timeline.activities.launch[activity];
    if (launch >= seen.size() || seen[launch]) continue;
    seen[launch] = true;
    const CallIndex call = timeline.launches.call[launch];
    if (call < timeline.calls.size())
      out.push_back({timeline.activities.stream[activity], timeline.activities.begin_ns[activity], call});
  }
  return out;
}

}  // namespace

HostSpans queue_waits(const Timeline& timeline) {
  const CallTable& calls = timeline.calls;
  const std::vector<Launched> work = launched_work(timeline);
  const auto length_of = [&](CallIndex call) { return detail::minus(calls.end_ns[call], calls.begin_ns[call]); };
  std::vector<double> lengths;
  for (const Launched& one : work) lengths.push_back(static_cast<double>(length_of(one.call)));
  const auto usual_ns = static_cast<std::int64_t>(analysis::median_of(lengths));
  HostSpans waits;
  for (std::size_t i = kLongQueue; i < work.size(); ++i) {
    const Launched& one = work[i];
    const bool is_long = length_of(one.call) / kLong > usual_ns;
    // So many were launched before it and have not begun.
    if (!is_long || work[i - kLongQueue].stream != one.stream ||
        work[i - kLongQueue].begin_ns <= calls.begin_ns[one.call])
      continue;
    waits.add(calls.thread[one.call], detail::plus(calls.begin_ns[one.call], std::max<std::int64_t>(usual_ns, 0)),
              calls.end_ns[one.call]);
  }
  waits.finish();
  return waits;
}

}  // namespace rangefinder::advice
