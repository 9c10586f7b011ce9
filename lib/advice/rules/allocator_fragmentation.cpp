// SPDX-License-Identifier: MIT
#include "advice/allocators.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <string>

// Memory that the caching allocator holds in pieces which nothing that is asked for fits into.
namespace rangefinder::advice {
namespace {

// Of what is reserved. Rounding of sizes and blocks that were just freed leave a tenth; from a fifth on it is worth
// another configuration.
constexpr std::int64_t kLeastPermille = 200;

struct Split {
  const analysis::CountedDevice* device = nullptr;
  std::int64_t bytes = 0;
  std::int64_t reserved_bytes = 0;
};

/// The count with the most bytes in inactive splits, of all devices.
Split most_split(const std::vector<analysis::CountedDevice>& devices) {
  Split most;
  for (const analysis::CountedDevice& device : devices) {
    const analysis::AllocatorCount& count = device.counts[device.most_split()];
    const std::int64_t bytes = count.inactive_split_bytes.value_or(0), reserved = count.reserved_bytes.value_or(0);
    if (reserved > 0 && bytes <= reserved && bytes > most.bytes) most = {&device, bytes, reserved};
  }
  return most;
}

}  // namespace

Judgement judge_allocator_fragmentation(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  const std::vector<analysis::CountedDevice> devices = analysis::counted_devices(timeline);
  const bool known = std::any_of(devices.begin(), devices.end(), [](const analysis::CountedDevice& device) {
    return device.counts[device.most_split()].inactive_split_bytes.has_value();
  });
  if (!known)
    return Judgement::cannot_tell(
        "counts of the caching allocator: call rangefinder::torch::count_device_memory() "
        "once a step");
  const Split split = most_split(devices);
  if (split.device == nullptr ||
      static_cast<double>(split.bytes) * 1000 < static_cast<double>(split.reserved_bytes) * kLeastPermille)
    return Judgement::nothing();
  EvidenceTable evidence(context);
  AdviceFinding finding = finding_of(
      AdviceRule::kAllocatorFragmentation, 0, evidence,
      {percent(static_cast<double>(split.bytes) / static_cast<double>(split.reserved_bytes)) +
           " of the memory that the caching allocator reserved is in free pieces that nothing fitted into",
       "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (or max_split_size_mb, roundup_power2_divisions); pad "
       "sequences to few lengths; allocate the largest batch first; free what is kept between steps",
       "`report --view memory_fragmentation` shows less external fragmentation"});
  finding.gain_bytes = split.bytes;
  finding.evidence.push_back({"device " + std::to_string(split.device->place.device), "bytes in inactive splits", "",
                              static_cast<std::uint64_t>(split.bytes), 0});
  finding.evidence.push_back({"device " + std::to_string(split.device->place.device), "bytes reserved", "",
                              static_cast<std::uint64_t>(split.reserved_bytes), 0});
  return Judgement::found(std::move(finding));
}

}  // namespace rangefinder::advice
