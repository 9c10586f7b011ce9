// SPDX-License-Identifier: MIT
#include "bench/model_flops.hpp"

#include "base/cpu_key.hpp"

#include <fmt/format.h>

namespace rangefinder::bench {

FlopsPeak flops_peak(const Work& work, const MachinePeaks* peaks, const std::string& device) {
  if (work.flops <= 0) return {0, "the benchmark tells no FLOPs of a step"};
  if (work.flops_type.empty()) return {0, "the benchmark does not tell in which type its FLOPs are computed"};
  if (peaks == nullptr) return {0, "no peaks: add --peaks, a file of `rangefinder measure-peaks`"};
  if (device == "host" && !peaks->cpu_key.empty() &&
      base::cpu_model(peaks->cpu_key) != base::cpu_model(base::cpu_key()))
    return {0, fmt::format("{} was measured on {}", peaks->source, peaks->cpu_key)};
  const double peak = peaks->best(device, "flops", work.flops_type);
  if (!(peak > 0)) return {0, fmt::format("{} has no FLOP/s in {} of \"{}\"", peaks->source, work.flops_type, device)};
  return {peak, {}};
}

Json model_flops_json(const Work& work, double median_wall_ns, const FlopsPeak& peak) {
  if (!(peak.flops_per_s > 0) || !(median_wall_ns > 0)) return {};
  return Json::object({{"value", work.flops / (median_wall_ns / 1e9) / peak.flops_per_s},
                       {"flops_per_step", work.flops},
                       {"type", work.flops_type},
                       {"peak_flops_per_s", peak.flops_per_s}});
}

}  // namespace rangefinder::bench
