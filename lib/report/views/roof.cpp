// SPDX-License-Identifier: MIT
#include "report/views/roof.hpp"

#include "base/cpu_key.hpp"
#include "base/text.hpp"

#include <string_view>

namespace rangefinder::report {
namespace {

/// Of the first device that worked; several of a machine are mostly alike, and busy time is added up over them.
std::string device_of(const Timeline& timeline, bool counted) {
  if (timeline.activities.size() != 0)
    return timeline.devices[timeline.streams[timeline.activities.stream.front()].device].name;
  return counted && !timeline.devices.empty() ? timeline.devices.front().name : "host";
}

/// The values of a fact, of all captures.
std::vector<std::string_view> facts_of(const Timeline& timeline, std::string_view wanted) {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : timeline.metadata)
    if (key == wanted && value.size() > 2) values.push_back(std::string_view(value).substr(1, value.size() - 2));
  return values;
}

/// Peaks of the host go by its processor.
bool of_another_host(const Timeline& timeline, const MachinePeaks& peaks, std::vector<std::string>& notes) {
  if (peaks.cpu_key.empty()) return false;
  for (const std::string_view key : facts_of(timeline, "cpu_key")) {
    if (base::cpu_model(key) == base::cpu_model(peaks.cpu_key)) continue;
    notes.push_back(base::printable(peaks.source) + " was measured on " + base::printable(peaks.cpu_key) +
                    ", and this ran on " + base::printable(key) + ": no shares");
    return true;
  }
  return false;
}

}  // namespace

Roof roof_of(const Timeline& timeline, const ViewOptions& options, bool counted, std::vector<std::string>& notes) {
  const bool on_device = timeline.activities.size() != 0;
  const bool counted_alone = !on_device && (counted || !facts_of(timeline, "counter_state").empty());
  Roof roof{on_device, counted_alone, device_of(timeline, counted), nullptr};
  if (options.peaks == nullptr) {
    notes.push_back(
        "no shares of a peak without measured peaks: run `rangefinder measure-peaks -o peaks.json` on the machine "
        "that ran this, and add --peaks peaks.json");
    return roof;
  }
  if (roof.device == "host" && of_another_host(timeline, *options.peaks, notes)) return roof;
  if (options.peaks->best(roof.device, "flops") > 0 || options.peaks->best(roof.device, "bandwidth") > 0) {
    roof.peaks = options.peaks;
    return roof;
  }
  std::string known;
  for (const MachinePeak& row : options.peaks->rows) {
    if (known.find(row.device) == std::string::npos) known += (known.empty() ? "" : ", ") + row.device;
  }
  notes.push_back(base::printable(options.peaks->source) + " has no peaks of " +
                  (roof.device.empty() ? "an unnamed device" : base::printable(roof.device)) +
                  ", which ran this: no shares (it has " + (known.empty() ? "none" : base::printable(known)) + ")");
  return roof;
}

}  // namespace rangefinder::report
