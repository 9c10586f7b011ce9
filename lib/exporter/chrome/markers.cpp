// SPDX-License-Identifier: MIT
#include "exporter/chrome/markers.hpp"

#include "exporter/chrome/document.hpp"
#include "exporter/chrome/end_to_end.hpp"
#include "exporter/chrome/head_cache.hpp"

#include <cmath>
#include <string>

namespace rangefinder::chrome {

void write_windows(EventWriter& writer, Layout& layout, GroupId process, std::span<const Window> windows) {
  if (windows.size() < 2) return;
  const TrackId track = layout.windows(process);
  EndToEnd rows;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    std::string head;
    append_head(head, 'X', "Trace", "window " + std::to_string(i + 1));
    const std::uint32_t level = rows.add(windows[i].begin_ns, windows[i].end_ns);
    writer.open_slice(head, layout.table().ids(layout.table().overflow(track, level)), windows[i].begin_ns,
                      windows[i].end_ns);
    writer.close();
  }
}

void write_health_mark(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const CaptureHealth& health,
                       bool simulated) {
  std::string name = "rangefinder: " + health_line(health);
  if (simulated) name += "; " + std::string(kSimulatedText);
  std::string head;
  append_head(head, 'i', "rangefinder", name);
  head += ",\"s\":\"t\"";
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
