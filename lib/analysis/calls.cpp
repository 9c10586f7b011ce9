// SPDX-License-Identifier: MIT
#include "analysis/calls.hpp"

#include "base/descending.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::analysis {

CallFinder::CallFinder(const Timeline& timeline) : timeline_(timeline) {
  const CallTable& calls = timeline.calls;
  for (CallIndex call{0}; call < calls.size(); ++call)
    if (calls.correlation[call] != 0 && calls.thread[call] < timeline.threads.size()) calls_.push_back(call);
  const auto before = [&](CallIndex a, CallIndex b) {
    if (calls.correlation[a] != calls.correlation[b]) return calls.correlation[a] < calls.correlation[b];
    return std::tuple(process_of(a), calls.begin_ns[a], a) < std::tuple(process_of(b), calls.begin_ns[b], b);
  };
  if (!std::is_sorted(calls_.begin(), calls_.end(), before)) std::sort(calls_.begin(), calls_.end(), before);
}

CallIndex CallFinder::find(ProcessIndex process, std::uint64_t correlation, std::int64_t time_ns) const noexcept {
  if (correlation == 0) return kNone;
  const CallTable& calls = timeline_.calls;
  auto first = std::partition_point(calls_.begin(), calls_.end(),
                                    [&](CallIndex call) { return calls.correlation[call] < correlation; });
  auto last =
      std::partition_point(first, calls_.end(), [&](CallIndex call) { return calls.correlation[call] == correlation; });
  if (first == last) return kNone;
  if (process == kNone) {
    if (process_of(*first) != process_of(last[-1])) return kNone;
    process = process_of(*first);
  }
  first = std::partition_point(first, last, [&](CallIndex call) { return process_of(call) < process; });
  last = std::partition_point(first, last, [&](CallIndex call) { return process_of(call) == process; });
  const auto after = std::partition_point(first, last, [&](CallIndex call) { return calls.begin_ns[call] <= time_ns; });
  if (after != first) return after[-1];
  return first != last ? *first : CallIndex(kNone);
}

std::vector<CallIndex> outermost_calls(const Timeline& timeline) {
  const CallTable& calls = timeline.calls;
  std::vector<CallIndex> order;
  for (CallIndex call{0}; call < calls.size(); ++call)
    if (calls.thread[call] < timeline.threads.size()) order.push_back(call);
  std::sort(order.begin(), order.end(), [&](CallIndex a, CallIndex b) {
    return std::tuple(calls.thread[a], calls.begin_ns[a], base::Descending{calls.end_ns[a]}, a) <
           std::tuple(calls.thread[b], calls.begin_ns[b], base::Descending{calls.end_ns[b]}, b);
  });
  std::vector<CallIndex> outermost;
  for (const CallIndex call : order) {
    if (!outermost.empty()) {
      const CallIndex before = outermost.back();
      // Ticks of a microsecond let a short call end where the next one begins: those are two.
      const bool inside = calls.thread[before] == calls.thread[call] && calls.end_ns[call] <= calls.end_ns[before] &&
                          calls.begin_ns[call] < calls.end_ns[before];
      if (inside) continue;
    }
    outermost.push_back(call);
  }
  return outermost;
}

std::string_view call_stem(std::string_view name) noexcept {
  for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
    // The stem begins with a capital: "cudnnCreate" is none of CUDA's calls.
    if (name.size() > prefix.size() && name.starts_with(prefix) && name[prefix.size()] >= 'A' &&
        name[prefix.size()] <= 'Z') {
      name.remove_prefix(prefix.size());
      return name.substr(0, name.find('_'));
    }
  }
  return name;
}

}  // namespace rangefinder::analysis
