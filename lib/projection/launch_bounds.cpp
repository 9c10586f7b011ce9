// SPDX-License-Identifier: MIT
#include "projection/launch_bounds.hpp"

#include <algorithm>

namespace rangefinder::projection {

LaunchBounds::LaunchBounds(std::span<const Window> windows, std::int64_t clock_error_ns)
    : clock_error_(std::max<std::int64_t>(clock_error_ns, 0)) {
  std::vector<Window> sorted(windows.begin(), windows.end());
  std::sort(sorted.begin(), sorted.end(), [](const Window& a, const Window& b) { return a.begin_ns < b.begin_ns; });
  for (const Window& window : sorted) add_window(window);
}

void LaunchBounds::add_window(const Window& window) {
  if (window.end_ns < window.begin_ns) return;
  if (!windows_.empty() && window.begin_ns <= windows_.back().end_ns)
    windows_.back().end_ns = std::max(windows_.back().end_ns, window.end_ns);
  else
    windows_.push_back(window);
}

std::int64_t LaunchBounds::relative(std::uint64_t correlation, std::uint64_t origin) noexcept {
  constexpr std::uint64_t kMask = std::numeric_limits<std::uint32_t>::max();
  if (correlation <= kMask && origin <= kMask)  // CUPTI's ids: they wrap
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(correlation) - static_cast<std::uint32_t>(origin));
  return static_cast<std::int64_t>(correlation - origin);
}

std::uint32_t LaunchBounds::begun(std::int64_t time_ns) const noexcept {
  const auto after = std::partition_point(windows_.begin(), windows_.end(),
                                          [time_ns](const Window& window) { return window.begin_ns <= time_ns; });
  return static_cast<std::uint32_t>(after - windows_.begin());
}

void LaunchBounds::add_call(ProcessIndex process, std::uint64_t correlation, std::int64_t time_ns) {
  if (correlation == 0 || time_ns == kNoTime) return;
  std::uint32_t window = 0;
  if (!windows_.empty()) {
    const std::uint32_t count = begun(time_ns);
    if (count == 0 || time_ns > windows_[count - 1].end_ns) return;  // while the recording was off
    window = count - 1;
  }
  if (process >= processes_.size()) processes_.resize(process + 1);
  Process& owner = processes_[process];
  if (!owner.any) owner.origin = correlation;
  owner.any = true;
  owner.first_ns = std::min(owner.first_ns, time_ns);
  const std::int64_t place = relative(correlation, owner.origin);
  auto bounds = owner.bounds.end();
  if (!owner.bounds.empty() && owner.bounds.back().window >= window)
    bounds = std::lower_bound(owner.bounds.begin(), owner.bounds.end(), window,
                              [](const Bounds& entry, std::uint32_t wanted) { return entry.window < wanted; });
  if (bounds == owner.bounds.end() || bounds->window != window) {
    owner.bounds.insert(bounds, {window, place, place});
    return;
  }
  bounds->low = std::min(bounds->low, place);
  bounds->high = std::max(bounds->high, place);
}

Unowned LaunchBounds::without_launch(ProcessIndex process, std::uint64_t correlation, std::int64_t begin_ns) const {
  if (correlation == 0) return Unowned::kUnknown;
  // A launch comes before its activity: what began before anything was recorded was launched before it.
  const bool late_enough = begin_ns > std::numeric_limits<std::int64_t>::max() - clock_error_;
  const std::int64_t latest = late_enough ? begin_ns : begin_ns + clock_error_;
  if (!windows_.empty() && latest < windows_.front().begin_ns) return Unowned::kBefore;
  if (process >= processes_.size() || !processes_[process].any) return Unowned::kUnknown;
  const Process& owner = processes_[process];
  if (latest < owner.first_ns) return Unowned::kBefore;

  const std::uint32_t ran_in = windows_.empty() ? 0 : std::max(begun(begin_ns), 1u) - 1;
  const std::int64_t place = relative(correlation, owner.origin);
  // Both windows and correlation ids grow with time: the last window whose calls do not all come after this launch.
  const auto past = std::partition_point(owner.bounds.begin(), owner.bounds.end(), [&](const Bounds& bounds) {
    return bounds.window <= ran_in && bounds.low <= place;
  });
  if (past == owner.bounds.begin()) return Unowned::kBefore;
  const Bounds& nearest = *(past - 1);
  // Between the calls of that window its launch should be in the data, and is not. After them, and before the window
  // that it ran in, the recording was off.
  return nearest.window == ran_in || place <= nearest.high ? Unowned::kUnknown : Unowned::kBefore;
}

Unowned LaunchBounds::without_range(std::int64_t launch_ns, std::int64_t begin_ns) const noexcept {
  if (windows_.empty() || begin_ns <= launch_ns) return Unowned::kOutside;
  const std::uint32_t at_launch = begun(launch_ns);
  if (at_launch > 0 && launch_ns <= windows_[at_launch - 1].end_ns) return Unowned::kOutside;  // in a window
  return begun(begin_ns) > at_launch ? Unowned::kBefore : Unowned::kOutside;
}

}  // namespace rangefinder::projection
