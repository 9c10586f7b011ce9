// SPDX-License-Identifier: MIT
#include "compare/compared_side.hpp"

#include <set>

namespace rangefinder::compare {

ComparedSide compared_side(std::span<const Run> runs) {
  ComparedSide side;
  std::set<std::string> devices, cpus, drivers;
  for (const Run& run : runs) {
    side.runs.push_back(run.name);
    for (const RunStep& step : run.steps) {
      side.steps += step.counts() && step.places != 0 ? 1 : 0;
      side.warm_up += step.warm_up ? 1 : 0;
    }
    devices.insert(run.hardware.devices.begin(), run.hardware.devices.end());
    if (!run.hardware.cpu.empty()) cpus.insert(run.hardware.cpu);
    if (!run.hardware.driver.empty()) drivers.insert(run.hardware.driver);
  }
  const auto joined = [](const std::set<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
    return all;
  };
  side.devices.assign(devices.begin(), devices.end());
  side.cpu = joined(cpus);
  side.driver = joined(drivers);
  return side;
}

void append_json(std::string& out, const ComparedSide& side, const base::JsonStyle& style) {
  out += '{';
  base::JsonWriter(out, style)
      .texts("runs", side.runs)
      .number("steps", side.steps)
      .number("warm_up_steps", side.warm_up)
      .texts("devices", side.devices)
      .text("cpu", side.cpu)
      .text("driver", side.driver);
  out += '}';
}

}  // namespace rangefinder::compare
