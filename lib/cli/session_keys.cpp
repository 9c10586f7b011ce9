// SPDX-License-Identifier: MIT
#include "cli/session_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rangefinder::cli {
namespace {

struct SessionKey {
  std::string_view name;
  std::string_view takes;
  std::string_view standard;  ///< the default
  std::string_view text;
};

// clang-format off
constexpr SessionKey kSessionKeys[] = {
    // [generated: keys] from lib/session/options.toml by scripts/session_options.py
    {"output", "TEXT", "PROGRAM-PID.rfcap",
     "The capture file. %p is the process id, %h the host name, %r the rank, %c the number of the cycle, %% a percent sign."},
    {"replace", "on|off", "on",
     "Replace an earlier capture of that name. Off: the start fails if there is one."},
    {"mode", "mapped|ring|buffered", "mapped",
     "Where records go while the program runs."},
    {"memory", "SIZE", "64MiB",
     "Memory bound for host records and CUPTI's buffers together. At least 8MiB."},
    {"overflow", "drop|wait|grow", "drop",
     "What a thread does when the memory bound is reached: drop and count; wait up to one second, then drop; or take more memory."},
    {"grow_limit", "SIZE", "4GiB",
     "Memory bound with overflow=grow."},
    {"skip_first", "N", "0",
     "Steps to skip before the first cycle of the schedule."},
    {"wait", "N", "0",
     "Steps at the start of each cycle that are not recorded."},
    {"warmup", "N", "0",
     "Steps after wait in which the sources run and nothing is kept."},
    {"active", "N", "0",
     "Steps recorded in each cycle. 0: no schedule; every step is recorded, and all time outside of steps."},
    {"repeat", "N", "0",
     "Number of cycles. 0: no limit."},
    {"record_signal", "SIGNAL", "none",
     "Record nothing until the process gets this signal, then record_steps steps, then wait for the next one."},
    {"record_steps", "N", "10",
     "Steps to record after record_signal. 0: until the next signal."},
    {"delay", "TIME", "0",
     "Record nothing until this much time has passed since the start."},
    {"duration", "TIME", "0",
     "Stop the session after this much recording; the program runs on. 0: no limit."},
    {"until_step", "N", "0",
     "Stop the session when this step begins; the program runs on. 0: no limit."},
    {"cuda", "on|off", "on",
     "Record device activity through CUPTI."},
    {"cuda_api", "on|off", "on",
     "Record every CUDA API call, at about 1 us a call."},
    {"cuda_sync", "on|off", "on",
     "Record synchronization: waits for streams, events and contexts."},
    {"cuda_overhead", "on|off", "on",
     "Record CUPTI's own overhead, and loading and compiling of code (lazy loading, PTX)."},
    {"graph_tracing", "nodes|whole|automatic", "nodes",
     "How CUDA graphs are recorded: each operation, each launch as a whole, or launches as a whole except graph_node_replays of each graph."},
    {"graph_node_replays", "N", "10",
     "Launches of each graph that graph_tracing=automatic records by operation. At least 1."},
    {"cuda_memory", "on|off", "on",
     "Record calls of CUDA's own allocation functions, with address and bytes."},
    {"cuda_latency", "on|off", "off",
     "Record when each kernel launch was queued and submitted to the device. Slows down launches."},
    {"cuda_idle", "automatic|gate|disable", "automatic",
     "What CUPTI does in pauses of a schedule and between sessions: off where that is safe, on at the cost of recording, or off."},
    {"counters", "NAME+NAME", "",
     "Hardware counters of ranges: names of metric sets or metrics, such as memory or roofline. Empty: none."},
    {"counter_ranges", "NAME|NAME", "",
     "Count only ranges whose name matches one of these patterns, with * and ?. Empty: all ranges."},
    {"counter_category", "TEXT", "",
     "Count only ranges of this category. Empty: any category."},
    {"counter_depth", "N", "-1",
     "Count only ranges with this many ranges around them on their thread. -1: any depth."},
    {"pm_sampling", "NAME+NAME", "",
     "PM sampling: sample these hardware counters of the devices over time: names as in counters, such as device. Empty: none."},
    {"pm_sampling_interval", "TIME", "1ms",
     "Time between two PM samples. At most 2,016 samples fit in a flush_period. At least 10us."},
    {"autograd", "on|off", "on",
     "Record in which range each autograd node was created, in programs that link rangefinder::torch."},
    {"nvml", "on|off|TIME", "off",
     "How often sensors of the devices in use are read through NVML: power, clocks, utilization, temperature, energy. 0: never."},
    {"cpu_counters", "on|off", "off",
     "Count CPU events (instructions, cycles, cache misses, ...) in each range: two or three system calls at both ends."},
    {"nvtx", "on|off", "on",
     "Send ranges as NVTX to a tool that listens, such as Nsight Systems."},
    {"flush_period", "TIME", "200ms",
     "How often device records are collected and the clock is sampled. At least 1ms."},
    {"stop_timeout", "TIME", "5s",
     "Longest time that stopping may take. Records not written by then are counted as lost."},
    {"ring_bytes", "SIZE", "64MiB",
     "Packed records kept with mode=ring."},
    {"ring_time", "TIME", "0",
     "Longest time to keep records with mode=ring. 0: only ring_bytes counts."},
    {"dump_signal", "SIGNAL", "none",
     "Write a dump when the process gets this signal, with mode=ring."},
    {"dump_step_over", "TIME", "0",
     "Write a dump when a step takes longer than this, with mode=ring. 0: never."},
    {"max_dumps", "N", "16",
     "Most dumps by signal and by slow steps. Later ones are only counted."},
    {"meta.NAME", "TEXT", "",
     "Facts to store with the capture, such as model = resnet50."},
    // [/generated]
};
// clang-format on

}  // namespace

std::string session_key_text(std::string_view name) {
  const auto* const key = std::find_if(std::begin(kSessionKeys), std::end(kSessionKeys),
                                       [&](const SessionKey& each) { return each.name == name; });
  return key != std::end(kSessionKeys)
             ? std::string(key->text.substr(0, std::min(key->text.find(". "), key->text.size() - 1)))
             : std::string();
}

std::string session_keys_help() {
  std::string help =
      "Keys of --config and RANGEFINDER_CONFIG, as KEY=VALUE,...\n"
      "SIZE: 64MiB (K, M, G, KiB, MiB, GiB); TIME: 200ms (ns, us, ms, s, min); SIGNAL: USR1, USR2, HUP or a number\n\n";
  for (const SessionKey& key : kSessionKeys) {
    help += fmt::format("{}={}{}\n    {}\n", key.name, key.takes,
                        key.standard.empty() ? "" : fmt::format("  (default {})", key.standard), key.text);
  }
  return help;
}

}  // namespace rangefinder::cli
