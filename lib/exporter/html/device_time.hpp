// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/html/page_input.hpp"

#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/result.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rangefinder::html {

/// What all devices of a recording did, added up: what the verdict and the advice speak of.
struct DeviceTime {
  std::uint64_t devices = 0;
  std::int64_t total_ns = 0;
  std::int64_t busy_ns = 0;
  std::int64_t computation_ns = 0;
  std::int64_t exposed_communication_ns = 0;
  std::int64_t exposed_memcpy_ns = 0;
  IdleReasons idle;
  std::int64_t idle_ns = 0;

  double share(std::int64_t part_ns) const noexcept {
    return total_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(total_ns) : 0;
  }
};

DeviceTime device_time(const PageInput& input);

/// What the ranges' paths took themselves on the host, added up, and the path that took the most.
struct HostTime {
  std::int64_t total_ns = 0;
  std::int64_t longest_ns = 0;
  StringId longest = StringId::kEmpty;
};

/// Nothing where there are no ranks with steps to compare.
std::optional<Result<Stragglers>> compare_ranks(const PageInput& input);

/// "37 %"; of less than 10 %, and of what is nearly all, with a decimal.
std::string percent(double share);

}  // namespace rangefinder::html
