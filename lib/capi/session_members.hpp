// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/rangefinder.h>
#include <rangefinder/session_options.hpp>

#include <cstdint>
#include <limits>
#include <string_view>

namespace rangefinder::capi {

struct Limits {
  std::int64_t least;
  std::int64_t most;
  std::string_view wanted;  ///< what a value outside of them is not
};
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// Calls visit.number(name, C member, C++ member, Limits), visit.text(C member, C++ member) or
/// visit.list(name, C member, C++ member, separator, wanted) for each option that both structs have, but for the
/// callback and the metadata. Either struct may be const.
template <typename Given, typename Options, typename Visitor>
void each_session_member(Given& given, Options& options, Visitor& visit) {
  // clang-format off
  // [generated: members] from lib/session/options.toml by scripts/session_options.py
  visit.text(given.output, options.output);
  visit.number("memory_bytes", given.memory_bytes, options.memory_bytes, Limits{8388608, kUnlimited,
               "a number of bytes of at least 8388608"});
  visit.number("grow_limit_bytes", given.grow_limit_bytes, options.grow_limit_bytes, Limits{0, kUnlimited,
               "a number of bytes of at least 0"});
  visit.number("ring_bytes", given.ring_bytes, options.ring_bytes, Limits{0, kUnlimited,
               "a number of bytes of at least 0"});
  visit.number("ring_time_ms", given.ring_time_ms, options.ring_time, Limits{0, 4611686018427,
               "a time in ms from 0 to 4611686018427 (146 years)"});
  visit.number("dump_step_over_ns", given.dump_step_over_ns, options.dump_step_over, Limits{0, 4611686018427387903,
               "a time in ns from 0 to 4611686018427387903 (146 years)"});
  visit.number("flush_period_ms", given.flush_period_ms, options.flush_period, Limits{1, 4611686018427,
               "a time in ms from 1 to 4611686018427 (146 years)"});
  visit.number("stop_timeout_ms", given.stop_timeout_ms, options.stop_timeout, Limits{0, 4611686018427,
               "a time in ms from 0 to 4611686018427 (146 years)"});
  visit.number("mode", given.mode, options.mode, Limits{0, 2,
               "RF_CAPTURE_MAPPED (0), RF_CAPTURE_RING (1) or RF_CAPTURE_BUFFERED (2)"});
  visit.number("overflow", given.overflow, options.overflow, Limits{0, 2,
               "RF_OVERFLOW_DROP (0), RF_OVERFLOW_WAIT (1) or RF_OVERFLOW_GROW (2)"});
  visit.number("skip_first", given.skip_first, options.schedule.skip_first, Limits{0, 4294967295,
               "a number from 0 to 4294967295"});
  visit.number("wait", given.wait, options.schedule.wait, Limits{0, 4294967295,
               "a number from 0 to 4294967295"});
  visit.number("warmup", given.warmup, options.schedule.warmup, Limits{0, 4294967295,
               "a number from 0 to 4294967295"});
  visit.number("active", given.active, options.schedule.active, Limits{0, 4294967295,
               "a number from 0 to 4294967295"});
  visit.number("repeat", given.repeat, options.schedule.repeat, Limits{0, 4294967295,
               "a number from 0 to 4294967295"});
  visit.number("record_signal", given.record_signal, options.record_signal, Limits{0, 64,
               "the number of a signal, from 1 to 64, or 0 for none"});
  visit.number("record_steps", given.record_steps, options.record_steps, Limits{0, 4294967295,
               "a number from 0 to 4294967295"});
  visit.number("dump_signal", given.dump_signal, options.dump_signal, Limits{0, 64,
               "the number of a signal, from 1 to 64, or 0 for none"});
  visit.number("max_dumps", given.max_dumps, options.max_dumps, Limits{0, 4294967295,
               "a number from 0 to 4294967295"});
  visit.number("cuda_idle", given.cuda_idle, options.cuda_idle, Limits{0, 2,
               "RF_CUDA_IDLE_AUTOMATIC (0), RF_CUDA_IDLE_GATE (1) or RF_CUDA_IDLE_DISABLE (2)"});
  visit.number("replace", given.replace, options.replace, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("cuda", given.cuda, options.cuda, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("cuda_api", given.cuda_api, options.cuda_api, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("cuda_sync", given.cuda_sync, options.cuda_sync, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("cuda_overhead", given.cuda_overhead, options.cuda_overhead, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("autograd", given.autograd, options.autograd, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("nvtx", given.nvtx, options.nvtx, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("cuda_memory", given.cuda_memory, options.cuda_memory, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("cuda_latency", given.cuda_latency, options.cuda_latency, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("cpu_counters", given.cpu_counters, options.cpu_counters, Limits{0, 1,
               "a number from 0 to 1"});
  visit.number("graph_tracing", given.graph_tracing, options.graph_tracing, Limits{0, 2,
               "RF_GRAPHS_NODES (0), RF_GRAPHS_WHOLE (1) or RF_GRAPHS_AUTOMATIC (2)"});
  visit.number("graph_node_replays", given.graph_node_replays, options.graph_node_replays, Limits{1, 4294967295,
               "a number from 1 to 4294967295"});
  visit.number("delay_ms", given.delay_ms, options.delay, Limits{0, 4611686018427,
               "a time in ms from 0 to 4611686018427 (146 years)"});
  visit.number("duration_ms", given.duration_ms, options.duration, Limits{0, 4611686018427,
               "a time in ms from 0 to 4611686018427 (146 years)"});
  visit.number("nvml_period_ms", given.nvml_period_ms, options.nvml_period, Limits{0, 4611686018427,
               "a time in ms from 0 to 4611686018427 (146 years)"});
  visit.number("pm_sampling_interval_ns", given.pm_sampling_interval_ns, options.pm_sampling_interval, Limits{10000, 4611686018427387903,
               "a time in ns from 10000 to 4611686018427387903 (146 years)"});
  visit.list("pm_sampling", given.pm_sampling, options.pm_sampling, '+', "a list of names separated by +, none of them empty");
  visit.list("counters", given.counters, options.counters, '+', "a list of names separated by +, none of them empty");
  visit.list("counter_ranges", given.counter_ranges, options.counter_ranges, '|', "a list of names separated by |, none of them empty");
  visit.text(given.counter_category, options.counter_category);
  visit.number("counter_depth", given.counter_depth, options.counter_depth, Limits{-1, 2147483647,
               "a number from -1 to 2147483647"});
  visit.number("until_step", given.until_step, options.until_step, Limits{0, 4294967295,
               "a number from 0 to 4294967295"});
  // [/generated]
  // clang-format on
}

}  // namespace rangefinder::capi
