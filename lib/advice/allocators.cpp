// SPDX-License-Identifier: MIT
#include "advice/allocators.hpp"

#include "analysis/spread.hpp"

#include <algorithm>
#include <optional>

namespace rangefinder::advice {

bool counts_retries(const std::vector<analysis::CountedDevice>& devices) noexcept {
  return std::any_of(devices.begin(), devices.end(), [](const analysis::CountedDevice& device) {
    return std::any_of(device.counts.begin(), device.counts.end(),
                       [](const analysis::AllocatorCount& count) { return count.retries.has_value(); });
  });
}

std::int64_t retries_of(Context& context, const std::vector<analysis::CountedDevice>& devices) {
  std::int64_t grown = 0;
  for (const analysis::CountedDevice& device : devices) {
    std::optional<std::int64_t> before;
    for (const analysis::AllocatorCount& count : device.counts) {
      if (!count.retries) continue;
      const bool is_judged = context.frames().at(device.place.process, count.time_ns) != Frames::kNoFrame;
      std::int64_t more = 0;
      if (before && is_judged && !__builtin_sub_overflow(*count.retries, *before, &more))
        grown = analysis::saturating_add(grown, std::max<std::int64_t>(more, 0));
      before = count.retries;
    }
  }
  return grown;
}

void add_allocation_calls(Context& context, EvidenceTable& evidence) {
  const CallTable& calls = context.timeline().calls;
  for (const analysis::AllocationCall& one : context.allocations())
    if (one.call != kNone && context.frames().holds(context.timeline(), one.thread, calls.begin_ns[one.call]))
      evidence.add_host({one.thread, calls.begin_ns[one.call]}, context.timeline().text(calls.name[one.call]),
                        one.host_ns);
}

}  // namespace rangefinder::advice
