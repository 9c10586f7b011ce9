// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"
#include "source/counters/profiler_api.hpp"
#include "source/source.hpp"

#include <cstdint>
#include <string>

namespace rangefinder::source::counters {

/// What the driver tells of a device, where no activities bring it: its name, above all, by which peaks go.
struct DeviceFacts {
  format::DeviceRow row{};
  std::string name;

  void write(RowSink& sink) const;
};

/// Needs an initialised driver. What it does not tell is 0.
DeviceFacts facts_of(const ProfilerApi& api, std::uint32_t device);

}  // namespace rangefinder::source::counters
