// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"

#include <rangefinder/health.hpp>

#include <cstdint>
#include <string_view>

namespace rangefinder::chrome {

/// The profiler's own span, which TensorBoard's plugin takes for the length of the recording. Widened to whole
/// microseconds: the plugin divides by them, and dies of a trace that is shorter than one.
void write_profiler_span(EventWriter& writer, std::uint64_t number, std::int64_t begin_ns, std::int64_t end_ns);

/// The two instants that torch.profiler ends its traces with.
void write_window_marks(EventWriter& writer, std::int64_t begin_ns, std::int64_t end_ns);

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
