// SPDX-License-Identifier: MIT
#include <rangefinder/health.hpp>

namespace rangefinder {

bool CaptureHealth::complete() const noexcept {
  bool lost = false;  // not by `entries`, which allocates
#define RANGEFINDER_HEALTH_LOST(member, number, severity, text) \
  lost = lost || (Severity::severity == Severity::kLoss && member != 0);
  RANGEFINDER_HEALTH_COUNTERS(RANGEFINDER_HEALTH_LOST)
#undef RANGEFINDER_HEALTH_LOST
  return !lost;
}

std::vector<CaptureHealth::Entry> CaptureHealth::entries() const {
  return {
#define RANGEFINDER_HEALTH_ENTRY(member, number, severity, text) {#member, number, Severity::severity, text, member},
      RANGEFINDER_HEALTH_COUNTERS(RANGEFINDER_HEALTH_ENTRY)
#undef RANGEFINDER_HEALTH_ENTRY
  };
}

bool CaptureHealth::add(std::uint32_t wanted, std::uint64_t count) noexcept {
  switch (wanted) {
#define RANGEFINDER_HEALTH_CASE(member, number, severity, text) \
  case number:                                                  \
    member += count;                                            \
    return true;
    RANGEFINDER_HEALTH_COUNTERS(RANGEFINDER_HEALTH_CASE)
#undef RANGEFINDER_HEALTH_CASE
    default:
      return false;
  }
}

CaptureHealth& CaptureHealth::operator+=(const CaptureHealth& other) noexcept {
#define RANGEFINDER_HEALTH_ADD(member, number, severity, text) member += other.member;
  RANGEFINDER_HEALTH_COUNTERS(RANGEFINDER_HEALTH_ADD)
#undef RANGEFINDER_HEALTH_ADD
  return *this;
}

}  // namespace rangefinder
