// SPDX-License-Identifier: MIT
#include "source/cupti/activity_windows.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::source::cupti {
namespace {

// What was launched longer ago has come by now.
constexpr std::int64_t kRemembered = 600'000'000'000;
constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();

}  // namespace

void ActivityWindows::begin() noexcept {
  windows_.clear();
  times_unreliable_ = false;
}

void ActivityWindows::open(std::int64_t realtime_ns, std::uint64_t newest_launch) {
  if (!windows_.empty() && windows_.back().open) return;
  windows_.push_back({realtime_ns, kOpen, newest_launch, 0, true});
}

void ActivityWindows::close(std::int64_t realtime_ns, std::uint64_t newest_launch) {
  if (windows_.empty() || !windows_.back().open) return;
  windows_.back().end_ns = realtime_ns;
  windows_.back().newest_launch = newest_launch;
  windows_.back().open = false;
  if (!times_unreliable_) forget_before(realtime_ns - kRemembered);
}

void ActivityWindows::forget_before(std::int64_t realtime_ns) {
  while (windows_.front().end_ns < realtime_ns) windows_.pop_front();
}

bool ActivityWindows::overlaps(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
  // The last window that began before the work ended. Windows are in order unless the clock was set back.
  const auto after = std::upper_bound(windows_.begin(), windows_.end(), end_ns,
                                      [](std::int64_t time, const Window& window) { return time < window.begin_ns; });
  return after != windows_.begin() && begin_ns < (after - 1)->end_ns;
}

bool ActivityWindows::search_device(std::int64_t begin_ns, std::int64_t end_ns,
                                    std::uint32_t correlation) const noexcept {
  // The last window that began before the launch: ids rise from window to window, also across their wrap.
  const auto after = std::partition_point(windows_.begin(), windows_.end(), [correlation](const Window& window) {
    return is_after(correlation, window.launched_after);
  });
  return (after != windows_.begin() && launched_in(*(after - 1), correlation)) || overlaps(begin_ns, end_ns);
}

bool ActivityWindows::search_host(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
  return times_unreliable_ ? !windows_.empty() : overlaps(begin_ns, end_ns);
}

}  // namespace rangefinder::source::cupti
