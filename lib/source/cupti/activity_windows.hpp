// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>

namespace rangefinder::source::cupti {

/// When the recording was on, to throw away what CUPTI brings of other times: of the pauses of a schedule, and of the
/// time before. CUPTI gives correlation ids in order, so the ids tell what was launched inside without asking a clock.
class ActivityWindows {
 public:
  /// Forgets all windows: nothing is kept until one is opened.
  void begin() noexcept;
  /// `newest_launch`: the last correlation id before the window, or in it; with bit 32 set, 0 when there was none.
  void open(std::int64_t realtime_ns, std::uint64_t newest_launch);
  void close(std::int64_t realtime_ns, std::uint64_t newest_launch);
  /// CLOCK_REALTIME was set: times no longer tell inside from outside. When in doubt, keep.
  void clock_stepped() noexcept { times_unreliable_ = true; }

  /// Work of a device: launched in a window, or running in one.
  bool keep_device(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t correlation) const noexcept {
    return launched_in_last(correlation) || search_device(begin_ns, end_ns, correlation);
  }
  /// A call or a wait on the host: any of it in a window.
  bool keep_host(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return overlaps_last(begin_ns, end_ns) || search_host(begin_ns, end_ns);
  }

 private:
  struct Window {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    std::uint64_t launched_after;
    std::uint64_t newest_launch;
    bool open;
  };
  // Later than the noted id, allowing for the wrap at 2^32; everything is later than none.
  static bool is_after(std::uint32_t correlation, std::uint64_t noted) noexcept {
    return noted == 0 || static_cast<std::int32_t>(correlation - static_cast<std::uint32_t>(noted)) > 0;
  }
  static bool launched_in(const Window& window, std::uint32_t correlation) noexcept {
    return window.open || (window.newest_launch != 0 && !is_after(correlation, window.newest_launch));
  }
  // The last window is where nearly all records belong: the others are searched for the rest.
  bool launched_in_last(std::uint32_t correlation) const noexcept {
    return !windows_.empty() && is_after(correlation, windows_.back().launched_after) &&
           launched_in(windows_.back(), correlation);
  }
  bool overlaps_last(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return !windows_.empty() && windows_.back().begin_ns <= end_ns && begin_ns < windows_.back().end_ns;
  }
  bool search_device(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t correlation) const noexcept;
  bool search_host(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;
  bool overlaps(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;

  void forget_before(std::int64_t realtime_ns);

  std::deque<Window> windows_;
  bool times_unreliable_ = false;
};

}  // namespace rangefinder::source::cupti
