// SPDX-License-Identifier: MIT
#include "bench/bottleneck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace rangefinder::bench {
namespace {

// Where one resource is busy for most of the time, it is the one; below a half, something else is waited for.
constexpr double kBusy = 0.8, kWaiting = 0.5, kCommunicating = 0.25;

JsonView range_named(JsonView profile, std::string_view name) {
  for (const JsonView range : profile["ranges"].items()) {
    if (range["range"].text() == name) return range;
  }
  return {};
}

/// Host time of ranges whose name says that ranks talk, as a share of the steps'.
std::optional<double> communication_share(JsonView profile, double step_ns) {
  double sum = 0;
  for (const JsonView range : profile["ranges"].items()) {
    const std::string name = range["range"].text();
    for (const char* word : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "nccl", "communication"}) {
      if (name.find(word) == std::string::npos) continue;
      sum += std::max(range["host_ns"].number(), range["gpu_busy_ns"].number());
      break;
    }
  }
  if (sum <= 0 || step_ns <= 0) return std::nullopt;
  return sum / step_ns;
}

void device_bottleneck(Bottleneck& out, JsonView variant) {
  if (!out.device) {
    out.evidence = "no device time: run with --profile minimal";
    return;
  }
  const double busy = *out.device;
  if (busy < kWaiting) {
    out.resource = "CPU";
    out.evidence = fmt::format("the device works {:.0f} % of a step and waits for the host in the rest", busy * 100);
    out.next = "fewer and larger launches: fuse, capture the step as a graph, move waiting and copies out of it";
    return;
  }
  if (busy < kBusy) {
    out.evidence = fmt::format("the device works {:.0f} % of a step: neither side bounds it alone", busy * 100);
    out.next = "overlap: copies on a stream of their own, the next batch prepared while the device works";
    return;
  }
  out.resource = "GPU";
  out.evidence = fmt::format("the device works {:.0f} % of a step", busy * 100);
  const double flops = variant["work"]["flops"].number(), bytes = variant["work"]["bytes"].number();
  if (flops > 0 && bytes > 0)
    out.evidence += fmt::format("; {:.3g} FLOP a byte by the benchmark's own account", flops / bytes);
  out.next = "reduced precision or fused kernels, by whether arithmetic or memory is the limit: counters tell which";
}

void processor_bottleneck(Bottleneck& out) {
  if (!out.processor) {
    out.evidence = "no times";
    return;
  }
  const double busy = *out.processor;
  if (busy < kWaiting) {
    out.resource = "I/O";
    out.evidence = fmt::format("the process computes {:.0f} % of the wall time and waits in the rest", busy * 100);
    out.next = "wait beside the work: prefetch, more workers, larger reads";
  } else if (busy < kBusy) {
    out.evidence =
        fmt::format("the process computes {:.0f} % of the wall time: computing and waiting both count", busy * 100);
    out.next = "look at the ranges that wait: `rangefinder report --view tree`";
  } else {
    out.resource = "CPU";
    out.evidence = fmt::format("CPU time is {:.0f} % of the wall time", busy * 100);
    out.next =
        "the costliest operators first: fused or reduced-precision forms, fewer passes over memory, more threads";
  }
}

}  // namespace

Bottleneck bottleneck_of(JsonView variant, const std::string& device) {
  Bottleneck out;
  const JsonView profile = variant["profile"];
  const double wall = variant["wall_ns"]["p50"].number(), cpu = variant["cpu_ns"]["p50"].number();
  if (wall > 0 && variant["cpu_ns"]["p50"].is_number()) out.processor = cpu / wall;
  const JsonView step = range_named(profile, "step");
  const double step_ns = step["host_ns"].number();
  if (device == "cuda" && step_ns > 0) out.device = step["gpu_busy_ns"].number() / step_ns;
  if (const auto share = communication_share(profile, step_ns); share && *share > kCommunicating) {
    out.resource = "communication";
    out.evidence = fmt::format("ranges that communicate take {:.0f} % of a step", *share * 100);
    out.next = "overlap it with backward, larger buckets, fewer reductions";
    return out;
  }
  if (device == "cuda")
    device_bottleneck(out, variant);
  else
    processor_bottleneck(out);
  return out;
}

}  // namespace rangefinder::bench
