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
  bool keep_device(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t correlation) const noexcept;
  /// A call or a wait on the host: any of it in a window.
  bool keep_host(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;

 private:
  struct Window {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    std::uint64_t launched_after;
    std::uint64_t newest_launch;
    bool open;
  };
  bool overlaps(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;

  void forget_before(std::int64_t realtime_ns);

  std::deque<Window> windows_;
  bool times_unreliable_ = false;
};

}  // namespace rangefinder::source::cupti
