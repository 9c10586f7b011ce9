// SPDX-License-Identifier: MIT
// Counts of CPU events at both ends of ranges.
#include "buffer/record_writer.hpp"

namespace rangefinder::buffer {

void put_cpu_counts(const HotThread& hot, ThreadState& state, const CpuCounterHook& hook) noexcept {
  std::int64_t counts[kCpuEvents];
  const std::uint32_t known = hook.read(counts);
  // Each block of records says all of it again: those before it may be lost.
  CpuCountsSaid& said = state.cpu_counts;
  const std::uint64_t in = reinterpret_cast<const format::BlockHeader*>(hot.block)->sequence;
  const bool all = said.in != in + 1;
  said.in = in + 1;
  for (std::uint32_t event = 0; event < kCpuEvents; ++event) {
    if ((known >> event & 1) == 0 || (!all && said.count[event] == counts[event])) continue;
    said.count[event] = counts[event];
    put(hot, detail::make_word(RecordKind::kThreadEvent, 0, event), static_cast<std::uint64_t>(counts[event]));
  }
}

}  // namespace rangefinder::buffer
