// SPDX-License-Identifier: MIT
#include "analysis/allocator_counts.hpp"
#include "analysis/graph_replays.hpp"
#include "base/text.hpp"
#include "report/nsight/views.hpp"
#include "report/table_order.hpp"
#include "report/view.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace rangefinder::report {

// Each is defined in a file of views/.
MakeView make_ranges, make_tree, make_kernels, make_memcpy, make_launches, make_replays, make_api, make_api_ranges,
    make_sync, make_overhead, make_allocations, make_ops, make_memory, make_memory_peak, make_memory_devices,
    make_memory_fragmentation, make_steps, make_roofline, make_roofline_operators, make_energy, make_cpu_counters,
    make_unattributed, make_counters, make_breakdown, make_collectives, make_collective_calls, make_hang, make_pipeline,
    make_stragglers, make_ranks, make_families, make_launch_queue, make_sequences, make_streams, make_idle,
    make_idle_streams, make_threads, make_parallelism, make_backward, make_advice, make_critical_path;

namespace {

// The views of our own, in the order in which `--view help` lists them; Nsight's follow.
constexpr View kOwnViews[] = {
    {"ranges", "Ranges by name, with their GPU time (--instances: each)", kNeedsRanges, make_ranges},
    {"tree", "Ranges by path, as they are nested, with their GPU time", kNeedsRanges, make_tree},
    {"advice", "What to change: findings by what they gain of a step, with evidence, and what could not be judged",
     kReadsInputs, make_advice},
    {"kernels", "Kernels by name, and the ranges that own them (--instances: each)", kNeedsActivities, make_kernels},
    {"memcpy", "Copies and memsets by direction, with throughput (--instances: each)", kNeedsActivities, make_memcpy},
    {"launches", "Kernels by launch configuration: occupancy and its limit, waves, launch delay, queue time",
     kNeedsKernels, make_launches},
    {"sequences",
     "Short kernels one after the other, and what a CUDA graph or one fused kernel could save (:summary: by kernel)",
     kNeedsActivities, make_sequences, kSummary},
    {"launch_queue", "Launches that wait: queue length of streams, starved time, launch latency (--by)",
     kNeedsActivities, make_launch_queue, kNoVariant, false, kByRange},
    {"replays", "Work of CUDA graphs by capturing range and replaying range", kNeedsActivities | kNeedsGraphs,
     make_replays},
    {"api", "CUDA calls on the host by name (--instances: each)", kNeedsCalls, make_api},
    {"api_ranges", "Host time in CUDA calls, by range and function (:summary: by range)", kNeedsCalls, make_api_ranges,
     kSummary},
    {"sync", "Where the host waits: range, reason, thread, work waited for (--instances: each)", kNeedsWaits,
     make_sync},
    {"overhead", "Overhead by thread and range: profiling, module loading, JIT compilation (--instances: each)",
     kNeedsOverheads, make_overhead},
    {"allocations", "Device allocations (cudaMalloc and the like) by range and function (--instances: each)",
     kNeedsAllocations, make_allocations},
    {"ops", "Operators of LibTorch by name: key averages, as torch.profiler counts them",
     kNeedsOperators | kReadsInputs, make_ops},
    {"memory", "Ranges by name: bytes allocated, bytes freed, peak", kNeedsMemory, make_memory},
    {"memory_peak", "What was allocated at the peak: by range, by operator", kNeedsMemory, make_memory_peak},
    {"memory_devices", "Memory of the host and of each device: peak, reserved, growth per step, private pools",
     kNeedsMemory, make_memory_devices},
    {"memory_fragmentation", "Fragmentation of device allocators: at its maximum and at the end", kNeedsAllocatorCounts,
     make_memory_fragmentation},
    {"steps", "Steps of a loop: their parts, device, items, warm-up and goodput", kNeedsSteps | kReadsInputs,
     make_steps, kSummary},
    {"breakdown",
     "Devices, or the host without one: computation, communication, copies, what is exposed, why idle (--by)",
     kNeedsNothing, make_breakdown, kNoVariant, false, kByStep | kByRange},
    {"families", "Device time by kernel family: GEMM, attention, elementwise, copy, ... (--by)", kNeedsActivities,
     make_families, kNoVariant, false, kByRange},
    {"streams",
     "Streams of devices: busy, alone, beside others (:summary: time with 0, 1, 2, 3 busy; --instances: pairs)",
     kNeedsActivities, make_streams, kSummary},
    {"idle", "Why devices do nothing, and which range the host is in meanwhile", kNeedsActivities, make_idle},
    {"idle_streams", "Why streams do nothing between their operations, and which range the host is in meanwhile",
     kNeedsActivities, make_idle_streams},
    {"threads", "Threads of the host: running, in collectives, waiting for devices or the autograd engine, idle",
     kNeedsRanges, make_threads},
    {"parallelism", "How many threads run during ranges and steps, and the share of those that there are", kNeedsRanges,
     make_parallelism},
    {"backward", "Host time of the backward pass, on the ranges whose forward pass made it", kNeedsRanges | kNeedsNodes,
     make_backward},
    {"critical_path",
     "What made the steps as long as they were, and what they would gain (--by, --of; --instances: each segment)",
     kNeedsNothing, make_critical_path, kNoVariant, false, kByStep | kByRange | kByReason | kByOperator},
    {"collectives", "Collectives matched over ranks: latency, bandwidth, who waited for whom (--instances: each)",
     kNeedsCollectives, make_collectives},
    {"collective_calls", "Each rank's part of each collective: what it called, and when it called, worked and waited",
     kNeedsCollectives, make_collective_calls},
    {"stragglers", "Ranks: which one the others wait for, by how much, and what it is slow at", kNeedsSteps,
     make_stragglers},
    {"ranks", "Heat map of ranks and steps: whose own work took longer than on the median rank", kNeedsSteps,
     make_ranks},
    {"hang", "Ranks that wait in a collective, who never came to it, and where that rank is", kNeedsCollectives,
     make_hang},
    {"pipeline", "Stages of pipeline parallelism: schedule, work, bubbles and their ideal (--instances: each step)",
     kNeedsCollectives, make_pipeline},
    {"roofline", "FLOP/s and bytes/s of ranges, as shares of the peaks of the machine (--peaks)",
     kNeedsRanges | kReadsInputs, make_roofline},
    {"roofline_operators",
     "FLOP/s and bytes/s of LibTorch's operators, as shares of the peaks of the machine (--peaks)",
     kNeedsOperators | kReadsInputs, make_roofline_operators},
    {"energy", "Energy of devices per path, with power and clocks while the work ran",
     kNeedsRanges | kNeedsActivities | kNeedsDeviceSamples, make_energy},
    {"cpu_counters", "CPU events per range (perf events): instructions, cycles, cache misses, page faults",
     kNeedsRanges | kNeedsCpuCounters, make_cpu_counters},
    {"unattributed", "Device work without an owner range, by reason and operation (:summary: by reason)",
     kNeedsActivities, make_unattributed, kSummary},
    {"counters", "Hardware counters per range: bytes, operations, device activity (--instances: each)", kNeedsCounters,
     make_counters},
};

struct VariantName {
  std::string_view name;
  Variant variant;
  Variant other;  ///< what it takes the place of
};
constexpr VariantName kVariantNames[] = {{"base", kBase, kMangled},
                                         {"mangled", kMangled, kBase},
                                         {"nvtx-name", kNvtxName, kNoVariant},
                                         {"summary", kSummary, kNoVariant}};

Error unknown_variant(const View& view, std::string_view variant) {
  std::string known;
  for (const VariantName& one : kVariantNames)
    if ((view.variants & one.variant) != 0) known.append(" ").append(one.name);
  return Error(ErrorCode::kInvalidArgument, std::string(view.name) + " has no variant \":" + base::printable(variant) +
                                                "\"" + (known.empty() ? "" : "; it has" + known));
}

Error unknown_view(std::string_view name) {
  std::vector<std::string_view> names;
  for (const View* view : views()) names.push_back(view->name);
  std::string message = "no view \"" + base::printable(name) + "\"";
  const std::string_view nearest = base::nearest(name, names);
  if (!nearest.empty()) {
    message += "; did you mean " + std::string(nearest) + "?";
  } else {
    message += "; there are";
    for (std::size_t i = 0; i < names.size(); ++i) message.append(i == 0 ? " " : ", ").append(names[i]);
  }
  return Error(ErrorCode::kNotFound, message);
}

bool has_operators(const Timeline& timeline) {
  const auto& kinds = timeline.ranges.kind;
  return std::find(kinds.begin(), kinds.end(), RangeKind::kOperator) != kinds.end();
}

}  // namespace

CsvOptions csv_options_for(const View& view) noexcept { return {.defuse_formulas = !view.compatible}; }

std::span<const View* const> views() {
  static const std::vector<const View*> all = [] {
    std::vector<const View*> list;
    for (const View& view : kOwnViews) list.push_back(&view);
    for (const View& view : nsight::views()) list.push_back(&view);
    return list;
  }();
  return all;
}

Result<const View*> find_view(std::string_view name, ViewOptions& options) {
  std::size_t colon = name.find(':');
  const View* found = nullptr;
  for (const View* view : views())
    if (view->name == name.substr(0, colon)) found = view;
  if (found == nullptr) return unknown_view(name.substr(0, colon));
  while (colon != std::string_view::npos) {
    name.remove_prefix(colon + 1);
    colon = name.find(':');
    const std::string_view wanted = name.substr(0, colon);
    const auto* const known = std::find_if(std::begin(kVariantNames), std::end(kVariantNames), [&](const auto& one) {
      return one.name == wanted && (found->variants & one.variant) != 0;
    });
    if (known == std::end(kVariantNames)) return unknown_variant(*found, wanted);
    options.variants = (options.variants & ~unsigned{known->other}) | known->variant;
  }
  return found;
}

bool asked_for_counters(const Timeline& timeline) {
  return std::any_of(timeline.metadata.begin(), timeline.metadata.end(),
                     [](const auto& fact) { return fact.first == "counter_state" || fact.first == "sample_state"; });
}

std::string missing_for(const View& view, const Timeline& timeline, unsigned met) {
  const struct {
    unsigned need;
    bool lacks;
    const char* words;
  } needs[] = {
      {kNeedsRanges, timeline.ranges.size() == 0, "ranges"},
      {kNeedsActivities, timeline.activities.size() == 0, "device activity"},
      {kNeedsCalls, timeline.calls.size() == 0, "API calls"},
      {kNeedsOperators, !has_operators(timeline), "operators"},
      {kNeedsSteps, timeline.steps.size() == 0, "steps (call session.step())"},
      {kNeedsMemory, timeline.allocator_events.size() == 0, "allocations (MemoryRecording, profile_memory)"},
      {kNeedsAllocatorCounts, !analysis::has_allocator_counts(timeline),
       "statistics of a device allocator (MemoryRecording, count_device_memory)"},
      {kNeedsDeviceSamples, timeline.sensor_samples.size() == 0, "readings of device sensors (record with nvml=on)"},
      {kNeedsCpuCounters, timeline.cpu_counters.size() == 0, "CPU counters (record with cpu_counters=on)"},
      {kNeedsCounters, timeline.range_metrics.size() == 0 && timeline.pm_samples.size() == 0,
       asked_for_counters(timeline) ? "hardware counters (they were requested; a note says why there are none)"
                                    : "hardware counters (counters=memory, pm_sampling=device)"},
      {kNeedsWaits, timeline.syncs.size() == 0 && timeline.calls.size() == 0, "synchronisations or API calls"},
      {kNeedsOverheads, timeline.overheads.size() == 0, "overhead records (CUPTI writes them on a device)"},
      {kNeedsKernels, timeline.kernel_details.empty(), "kernels with their launch configuration"},
      {kNeedsAllocations, timeline.cuda_allocations.size() == 0 && timeline.calls.size() == 0, "allocation calls"},
      {kNeedsGraphs, (view.needs & kNeedsGraphs) != 0 && !analysis::has_graph_work(timeline), "work of CUDA graphs"},
      {kNeedsNodes, timeline.autograd_nodes.size() == 0,
       "nodes of autograd (record operators, or the backward pass with LibTorch)"},
      {kNeedsCollectives, timeline.collectives.size() == 0, "collectives (of NCCL, RCCL or c10d)"},
  };
  std::string missing;
  for (const auto& [need, lacks, words] : needs) {
    if ((view.needs & need & ~met) != 0 && lacks) missing.append(missing.empty() ? "" : ", ").append(words);
  }
  return missing.empty() ? missing : std::string(view.name) + " needs data that this input does not have: " + missing;
}

/// "a, b or c"
std::string listed(const std::vector<std::string_view>& words, std::string_view last) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) all.append(i + 1 == words.size() ? last : ", ");
    all.append(words[i]);
  }
  return all;
}

/// Whether the view has rows by that.
Status check_by(const View& view, std::string_view by) {
  if (by.empty()) return {};
  std::vector<std::string_view> known;
  for (const auto& [one, word] : kByWords) {
    if ((view.by & one) == 0) continue;
    if (word == by) return {};
    known.push_back(word);
  }
  if (!known.empty())
    return Error(ErrorCode::kInvalidArgument, std::string(view.name) + ": by \"" + base::printable(by) + "\": there " +
                                                  (known.size() == 1 ? "is " : "are ") + listed(known, " and "));
  std::vector<std::string_view> names;
  for (const View* other : views())
    if (other->by != kByNothing) names.push_back(other->name);
  std::sort(names.begin(), names.end());
  return Error(ErrorCode::kInvalidArgument, std::string(view.name) + " has no rows by " + base::printable(by) +
                                                "; use --view " + listed(names, " or "));
}

Result<Table> make_table(const View& view, const ProjectedTimeline& projected, const ViewOptions& options) {
  if (view.name != "ranges" && (options.by_payload || !options.payload.empty()))
    return Error(ErrorCode::kInvalidArgument, std::string(view.name) + " has no payloads; use --view ranges");
  if (Status status = check_by(view, options.by); !status.ok()) return std::move(status).error();
  if (view.name != "critical_path" && !options.of.empty())
    return Error(ErrorCode::kInvalidArgument,
                 std::string(view.name) + " is of the whole input; use --view critical_path with --of");
  Result<Table> table = view.make(projected, options);
  if (!table) return table;
  Status status = arrange(*table, options);
  if (!status.ok()) return std::move(status).error().with_context(view.name);
  return table;
}

}  // namespace rangefinder::report
