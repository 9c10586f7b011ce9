// SPDX-License-Identifier: MIT
#include <rangefinder/health.hpp>

namespace rangefinder {

bool CaptureHealth::complete() const noexcept {
  for (const Entry& entry : entries()) {
    if (entry.severity == Severity::kLoss && entry.count != 0) return false;
  }
  return true;
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
