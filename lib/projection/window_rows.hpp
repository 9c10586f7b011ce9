// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rangefinder::projection {

/// A timeline with its projection, as figures are added up from it: all of a recording, or a window of one. Behind the
/// own ranges of a window stand those of earlier ones that its activities belong to.
struct WindowRows {
  const Timeline& timeline;
  const Projection& projection;

  // Of a window.
  bool is_whole = true;                     ///< nothing came before, and nothing follows
  bool is_last = true;                      ///< nothing follows
  std::size_t own_ranges = 0;               ///< the first ones
  std::size_t carried_ranges = 0;           ///< of these, the first ones: they were open when the window began
  std::span<const std::uint64_t> keys{};    ///< by range: what names it in all windows
  const std::vector<bool>* open = nullptr;  ///< by range: it is not over at the window's end
  /// Activities and calls to come begin at that time or later.
  std::int64_t time_ns = std::numeric_limits<std::int64_t>::max();

  /// `windows` say which rows the one at hand has (importer::CaptureWindows).
  template <typename Windows>
  static WindowRows of(const Windows& windows, const Timeline& timeline, const Projection& projection, bool is_last) {
    return {.timeline = timeline,
            .projection = projection,
            .is_whole = false,
            .is_last = is_last,
            .own_ranges = windows.range_rows(),
            .carried_ranges = windows.carried_rows(),
            .keys = windows.keys(),
            .open = &windows.open_rows(),
            .time_ns = windows.time_ns()};
  }
  static WindowRows whole(const Timeline& timeline, const Projection& projection) {
    return {.timeline = timeline, .projection = projection, .own_ranges = timeline.ranges.size()};
  }
  bool is_open(RangeIndex range) const noexcept { return open != nullptr && (*open)[range]; }
  /// The range ends here: what the host says of it counts in this window.
  bool ends_here(RangeIndex range) const noexcept { return range < own_ranges && !is_open(range); }
  /// Other windows have, or may have, rows of the range too.
  bool is_shared(RangeIndex range) const noexcept { return range < carried_ranges || is_open(range); }
  std::uint64_t key(RangeIndex range) const noexcept { return keys.empty() ? range : keys[range]; }
};

}  // namespace rangefinder::projection
