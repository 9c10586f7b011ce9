// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spread.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rangefinder::analysis {

/// Kernels of one name on one device that were launched alike.
struct LaunchConfiguration {
  StringId kernel = StringId::kEmpty;
  DeviceIndex device{0};
  KernelDetail detail;  ///< of the first one
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;    ///< time on the device
  std::uint64_t in_graphs = 0;  ///< nodes of CUDA graphs among them
  Spread delay;                 ///< begin of the launching call to begin of the kernel
  Spread queue;                 ///< end of the launching call to begin of the kernel, of those that began later
  Spread command_buffer;        ///< put into the command buffer to handed to the device; with latency timestamps
  Spread device_queue;          ///< handed to the device to begin; with latency timestamps
};

/// Kernels whose configuration is known, of a timeline or of the windows of a capture.
class LaunchConfigurations {
 public:
  LaunchConfigurations() = default;
  /// How many waits of each kind are kept for exact medians.
  explicit LaunchConfigurations(std::size_t most_kept)
      : delay_(most_kept), queue_(most_kept), command_buffer_(most_kept), device_queue_(most_kept) {}

  void add(const Timeline& timeline);
  /// By time on the device. `timeline`: whose names these are.
  std::vector<LaunchConfiguration> rows(const Timeline& timeline) const;
  /// False: medians are exact to `precision()`.
  bool is_exact() const noexcept;
  std::string precision() const { return delay_.precision(); }
  std::uint64_t memory_bytes() const noexcept;

 private:
  using Key = std::array<std::uint32_t, 16>;
  static Key key_of(StringId kernel, DeviceIndex device, const KernelDetail& detail);
  void add_waits(const Timeline& timeline, std::uint32_t configuration, ActivityIndex kernel);

  std::vector<LaunchConfiguration> rows_;  // in order of the first kernel of each, spreads not filled
  std::map<Key, std::uint32_t> found_;
  GroupedSamples delay_, queue_, command_buffer_, device_queue_;  // by number of the configuration
};

}  // namespace rangefinder::analysis
