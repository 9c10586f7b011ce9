// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/layout.hpp"

#include <rangefinder/health.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace rangefinder::chrome {

/// When a recording with several windows was on, on a row of the process. One window is the trace itself.
void write_windows(EventWriter& writer, Layout& layout, GroupId process, std::span<const Window> windows);

/// An instant that says what the recording lost and whether its device rows are made up.
void write_health_mark(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const CaptureHealth& health,
                       bool simulated);

struct CounterSample {
  std::string_view name;
  bool is_integer = false;
  std::int64_t integer = 0;
  double number = 0;
};
/// False, and nothing written, when the sample is not finite.
bool write_counter(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const CounterSample& sample);

}  // namespace rangefinder::chrome
