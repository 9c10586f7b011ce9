// SPDX-License-Identifier: MIT
#include "analysis/allocator_counts.hpp"
#include "analysis/graph_replays.hpp"
#include "base/text.hpp"
#include "report/table_order.hpp"
#include "report/view.hpp"

#include <algorithm>
#include <vector>

// Every view there is, in the order in which `--view help` lists them.
#define RANGEFINDER_VIEWS(X) \
  X(ranges)                  \
  X(tree)                    \
  X(kernels)                 \
  X(memcpy)                  \
  X(launches)                \
  X(replays)                 \
  X(api)                     \
  X(api_ranges)              \
  X(sync)                    \
  X(overhead)                \
  X(allocations)             \
  X(ops)                     \
  X(memory)                  \
  X(memory_peak)             \
  X(memory_devices)          \
  X(memory_fragmentation)    \
  X(steps)                   \
  X(roofline)                \
  X(energy)                  \
  X(cpu_counters)            \
  X(unattributed)            \
  X(counters)                \
  X(nvtx_gpu_proj_trace)     \
  X(nvtx_gpu_proj_sum)       \
  X(nvtx_kern_sum)           \
  X(nvtx_pushpop_trace)      \
  X(nvtx_sum)                \
  X(nvtx_pushpop_sum)        \
  X(nvtx_startend_sum)       \
  X(cuda_gpu_kern_sum)       \
  X(cuda_gpu_trace)          \
  X(cuda_gpu_sum)            \
  X(cuda_gpu_mem_time_sum)   \
  X(cuda_gpu_mem_size_sum)   \
  X(cuda_api_sum)            \
  X(cuda_api_trace)          \
  X(cuda_api_gpu_sum)        \
  X(cuda_kern_exec_sum)      \
  X(cuda_kern_exec_trace)

namespace rangefinder::report {

namespace views_list {
#define RANGEFINDER_DECLARE(view) extern const View view;
RANGEFINDER_VIEWS(RANGEFINDER_DECLARE)
#undef RANGEFINDER_DECLARE
}  // namespace views_list

namespace {

#define RANGEFINDER_ENTRY(view) &views_list::view,
constexpr const View* kViews[] = {RANGEFINDER_VIEWS(RANGEFINDER_ENTRY)};
#undef RANGEFINDER_ENTRY

bool knows_suffix(const View& view, std::string_view suffix) {
  std::string_view known = view.suffixes;
  while (!known.empty()) {
    const std::size_t space = known.find(' ');
    if (known.substr(0, space) == suffix) return true;
    known.remove_prefix(space == std::string_view::npos ? known.size() : space + 1);
  }
  return false;
}

Error unknown_view(std::string_view name) {
  std::vector<std::string_view> names;
  for (const View* view : kViews) names.push_back(view->name);
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

std::span<const View* const> views() noexcept { return kViews; }

Result<const View*> find_view(std::string_view name, ViewOptions& options) {
  const std::size_t colon = name.find(':');
  const View* found = nullptr;
  for (const View* view : kViews)
    if (view->name == name.substr(0, colon)) found = view;
  if (found == nullptr) return unknown_view(name.substr(0, colon));
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : name.substr(colon + 1);
  for (bool more = colon != std::string_view::npos; more;) {
    const std::size_t next = rest.find(':');
    const std::string_view suffix = rest.substr(0, next);
    if (!knows_suffix(*found, suffix))
      return Error(ErrorCode::kInvalidArgument,
                   std::string(found->name) + " has no variant \":" + base::printable(suffix) + "\"" +
                       (found->suffixes.empty() ? "" : "; it has " + std::string(found->suffixes)));
    if (suffix == "base") options.kernel_naming.form = analysis::nsight::KernelName::kBase;
    if (suffix == "mangled") options.kernel_naming.form = analysis::nsight::KernelName::kMangled;
    if (suffix == "nvtx-name") options.kernel_naming.innermost_range = true;
    if (suffix == "summary") options.summary = true;
    more = next != std::string_view::npos;
    if (more) rest.remove_prefix(next + 1);
  }
  return found;
}

bool asked_for_counters(const Timeline& timeline) {
  return std::any_of(timeline.metadata.begin(), timeline.metadata.end(),
                     [](const auto& fact) { return fact.first == "counter_state" || fact.first == "sample_state"; });
}

std::string missing_for(const View& view, const Timeline& timeline) {
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
  };
  std::string missing;
  for (const auto& [need, lacks, words] : needs) {
    if ((view.needs & need) != 0 && lacks) missing.append(missing.empty() ? "" : ", ").append(words);
  }
  return missing.empty() ? missing : std::string(view.name) + " needs data that this input does not have: " + missing;
}

Result<Table> make_table(const View& view, const Subject& subject, const ViewOptions& options) {
  if (view.name != "ranges" && (options.by_payload || !options.payload.empty()))
    return Error(ErrorCode::kInvalidArgument, std::string(view.name) + " has no payloads; use --view ranges");
  Result<Table> table = view.make(subject, options);
  if (!table) return table;
  Status status = arrange(*table, options);
  if (!status.ok()) return std::move(status).error().with_context(view.name);
  return table;
}

}  // namespace rangefinder::report
