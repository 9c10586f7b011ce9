// SPDX-License-Identifier: MIT
#include "exporter/chrome/markers.hpp"

#include "exporter/chrome/document.hpp"
#include "exporter/chrome/head_cache.hpp"

#include <cmath>
#include <limits>
#include <string>

namespace rangefinder::chrome {
namespace {

constexpr std::int64_t kMicro = 1000;

std::int64_t down_to_micro(std::int64_t ns) noexcept {
  const std::int64_t rest = ((ns % kMicro) + kMicro) % kMicro;
  return ns < std::numeric_limits<std::int64_t>::min() + rest ? ns : ns - rest;
}

std::int64_t up_from_micro(std::int64_t ns) noexcept {
  const std::int64_t floor = down_to_micro(ns);
  return floor > std::numeric_limits<std::int64_t>::max() - kMicro ? ns : floor + kMicro;
}

}  // namespace

void write_profiler_span(EventWriter& writer, std::uint64_t number, std::int64_t begin_ns, std::int64_t end_ns) {
  std::string head;
  append_head(head, 'X', "Trace", "PyTorch Profiler (" + std::to_string(number) + ")");
  // The widening is one of the text: the origin of the trace is a whole microsecond, the timeline's need not be.
  const std::int64_t origin = writer.base().origin_ns();
  writer.open_slice(head, ",\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":",
                    origin + down_to_micro(begin_ns - origin), origin + up_from_micro(end_ns - origin));
  writer.argument("\"Op count\":", 0);
  writer.close();
}

void write_window_marks(EventWriter& writer, std::int64_t begin_ns, std::int64_t end_ns) {
  writer.open_point("{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Iteration Start: PyTorch Profiler\"",
                    ",\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\",\"ts\":", begin_ns);
  writer.close();
  writer.open_point("{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\"",
                    ",\"pid\":\"\",\"tid\":\"\",\"ts\":", end_ns);
  writer.close();
}

void write_health_mark(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const CaptureHealth& health,
                       bool simulated) {
  std::string name = "rangefinder: " + health_line(health);
  if (simulated) name += "; " + std::string(kSimulatedText);
  std::string head;
  append_head(head, 'i', "rangefinder", name);
  head += ",\"s\":\"p\"";
  writer.open_point(head, ids, time_ns);
  for (const CaptureHealth::Entry& entry : health.entries()) {
    if (entry.count == 0) continue;
    const std::string key = "\"" + std::string(entry.name) + "\":";
    writer.argument(key, entry.count);
  }
  writer.close();
}

bool write_counter(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const CounterSample& sample) {
  if (!sample.is_integer && !std::isfinite(sample.number)) return false;
  std::string head;
  append_head(head, 'C', {}, sample.name);
  writer.open_point(head, ids, time_ns);
  constexpr std::string_view kKey = "\"value\":";
  sample.is_integer ? writer.signed_argument(kKey, sample.integer) : writer.double_argument(kKey, sample.number);
  writer.close();
  return true;
}

}  // namespace rangefinder::chrome
