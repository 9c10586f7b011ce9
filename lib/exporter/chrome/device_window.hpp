// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pass_split.hpp"
#include "exporter/chrome/head_cache.hpp"
#include "importer/capture/capture_windows.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::chrome {

/// What is written of the activities of a window of a capture, apart from the window, which goes on to be the next one.
struct DeviceWindow {
  struct Stream {
    std::uint32_t device, context;
    std::int64_t id;
  };
  struct Place {
    std::string_view head;
    std::int64_t external_id;  ///< key of the range that launched it; -1: none
    RangeIndex innermost;      ///< of the ranges that are shown; kNone: it is in none
  };
  struct Captured {
    ActivityIndex activity;
    std::uint32_t tid;
    std::int64_t time_ns;
    std::string ranges;  ///< as ActivityPlace::captured_in
  };

  struct Collective {
    ActivityIndex activity;
    std::string arguments;  ///< as ActivityPlace::collective
  };

  /// False: no later window holds the range.
  bool keeps(std::uint64_t key) const noexcept {
    return key >= kept.first_key || std::binary_search(kept.earlier.begin(), kept.earlier.end(), key);
  }
  std::uint64_t key_of(RangeIndex range) const noexcept { return range == kNone ? 0 : keys[range]; }
  bool nests(RangeIndex range) const noexcept { return beside.empty() || !beside[range]; }
  /// It began in this window.
  bool is_new(RangeIndex range) const noexcept { return range >= first_new && range < behind_new; }
  /// Null: it is of no graph, or it is not known where that was made.
  const Captured* captured_of(ActivityIndex row) const noexcept;
  /// Empty: it is of none.
  std::string_view collective_of(ActivityIndex row) const noexcept;
  std::size_t bytes() const noexcept;

  std::vector<Stream> new_streams;  ///< met in this window
  ActivityTable activities;
  std::vector<KernelDetail> kernel_details;
  std::vector<CopyDetail> copy_details;
  std::vector<Place> places;            ///< by activity
  std::vector<Captured> captured;       ///< in order of activity
  std::vector<Collective> collectives;  ///< likewise
  // Of ranges, by row; parent and depth as SpanOwners has them.
  std::vector<std::uint64_t> keys;
  std::size_t first_new = 0, behind_new = 0;  ///< those between began in this window
  std::vector<RangeIndex> parent;
  std::vector<std::uint32_t> depth;
  std::vector<bool> beside;  ///< that do not nest; empty: all do
  // What ranges have on streams, by row of `figures`.
  std::vector<StreamFigures> figures;
  std::vector<std::string_view> heads;
  std::vector<analysis::PassTimes> passes;  ///< empty: no node runs in this window
  importer::CaptureWindows::Kept kept;
  bool has_passes = false;
  bool is_apart = false;  ///< the work of a range can be apart in time: there are nodes of autograd or of graphs
};

/// Takes from each window in turn what is written of it. Heads live as long as this.
class DeviceWindows {
 public:
  explicit DeviceWindows(const ChromeExportOptions& options) : options_(options) {}

  /// `window` is the one at hand; its activities are taken.
  DeviceWindow take(const importer::CaptureWindows& windows, Timeline& window);
  /// Of all windows so far.
  const Account& account() const noexcept { return account_; }

 private:
  std::string_view head(const Timeline& window, Category category, StringId name);
  void take_streams(const Timeline& window, DeviceWindow& out);

  const ChromeExportOptions& options_;
  HeadCache heads_;  // by text of the windows
  std::size_t streams_ = 0;
  Account account_;
};

}  // namespace rangefinder::chrome
