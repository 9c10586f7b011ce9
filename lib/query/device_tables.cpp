// SPDX-License-Identifier: MIT
#include "query/tables.hpp"
#include "timeline/nsight_names.hpp"
#include "timeline/words.hpp"

#include <cstddef>
#include <string>

// Work of devices, and how it was launched.
namespace rangefinder::query {
namespace {

const ActivityTable& activities(const Model& model) noexcept { return model.timeline().activities; }

/// A kernel's detail, or null.
const KernelDetail* kernel_of(const Model& model, std::uint32_t row) noexcept {
  const std::uint32_t detail = activities(model).detail[row];
  if (activities(model).kind[row] != ActivityKind::kKernel || detail >= model.timeline().kernel_details.size())
    return nullptr;
  return &model.timeline().kernel_details[detail];
}
template <auto Member>
Cell of_kernel(const Model& model, std::uint32_t row) {
  const KernelDetail* detail = kernel_of(model, row);
  return detail == nullptr ? null_cell() : number(detail->*Member);
}
template <auto Member, std::size_t Axis>
Cell axis_of_kernel(const Model& model, std::uint32_t row) {
  const KernelDetail* detail = kernel_of(model, row);
  return detail == nullptr ? null_cell() : number((detail->*Member)[Axis]);
}

Cell copy_kind(const Model& model, std::uint32_t row) {
  const std::uint32_t detail = activities(model).detail[row];
  if (activities(model).kind[row] != ActivityKind::kMemcpy || detail >= model.timeline().copy_details.size())
    return null_cell();
  // "[CUDA memcpy Host-to-Device]"
  constexpr std::string_view kBefore = "[CUDA memcpy ";
  std::string words = timeline::nsight::copy_operation(model.timeline().copy_details[detail].copy_kind);
  return made_text(words.substr(kBefore.size(), words.size() - kBefore.size() - 1));
}

Cell owner_range(const Model& model, std::uint32_t row) {
  const std::uint32_t owner = model.projection().owner[row];
  return owner < model.timeline().ranges.size() ? number(std::int64_t{owner} + 1) : null_cell();
}
Cell owner_word(const Model& model, std::uint32_t row) {
  const std::uint32_t owner = model.projection().owner[row];
  if (owner < model.timeline().ranges.size()) return text("range");
  switch (static_cast<Unowned>(owner)) {
    case Unowned::kOutside:
      return text("outside");
    case Unowned::kBefore:
      return text("before");
    case Unowned::kUnknown:
      return text("unknown");
  }
  return text("unknown");
}

constexpr Column kActivityColumns[] = {
    {"kind", Type::kText, "", "kernel, memcpy, memset, or graph: a launch of a CUDA graph that was recorded as a whole",
     [](const Model& model, std::uint32_t row) { return text(word_of(activities(model).kind[row])); }},
    {"name", Type::kText, "", "name of the kernel or operation",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().text(activities(model).name[row])); }},
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) {
       return id_of(model.process_of(model.device_of(activities(model).stream[row])));
     }},
    {"device_id", Type::kInteger, "", "row of devices",
     [](const Model& model, std::uint32_t row) { return id_of(model.device_of(activities(model).stream[row])); }},
    {"stream_id", Type::kInteger, "", "row of streams",
     [](const Model& model, std::uint32_t row) { return id_of(activities(model).stream[row]); }},
    {"begin_ns", Type::kInteger, "ns", "begin on the device",
     [](const Model& model, std::uint32_t row) { return number(activities(model).begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end on the device",
     [](const Model& model, std::uint32_t row) { return number(activities(model).end_ns[row]); }},
    {"duration_ns", Type::kInteger, "ns", "end less begin",
     [](const Model& model, std::uint32_t row) {
       return number(activities(model).end_ns[row] - activities(model).begin_ns[row]);
     }},
    {"range_id", Type::kInteger, "", "row of ranges: the owner; NULL: none", owner_range},
    {"owner", Type::kText, "", "range; or why there is none: outside (of any range), before (the recording), unknown",
     owner_word},
    {"launch_id", Type::kInteger, "", "row of launches; NULL: not known",
     [](const Model& model, std::uint32_t row) { return id_of(activities(model).launch[row]); }},
    {"captured_launch_id", Type::kInteger, "", "row of launches: what made the node of the CUDA graph; NULL: not known",
     [](const Model& model, std::uint32_t row) { return id_of(activities(model).captured[row]); }},
    {"collective_id", Type::kInteger, "", "row of collectives that it is a part of; NULL: none",
     [](const Model& model, std::uint32_t row) { return id_of(activities(model).collective[row]); }},
    {"correlation", Type::kInteger, "", "CUPTI's correlation id, unique within the process; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_not_zero(activities(model).correlation[row]); }},
    {"moved_bytes", Type::kInteger, "bytes", "bytes that a copy or memset moved; NULL for others",
     [](const Model& model, std::uint32_t row) {
       return is_copy(activities(model).kind[row]) ? number(activities(model).bytes[row]) : null_cell();
     }},
    {"copy_kind", Type::kText, "", "Host-to-Device, Device-to-Host, ...; NULL for others", copy_kind},
    {"graph", Type::kInteger, "", "id of the executable CUDA graph; NULL: not of a graph",
     [](const Model& model, std::uint32_t row) { return if_not_zero(activities(model).graph[row]); }},
    {"graph_node", Type::kInteger, "", "node of the CUDA graph; NULL: not of a graph",
     [](const Model& model, std::uint32_t row) { return if_not_zero(activities(model).graph_node[row]); }},
    {"estimated", Type::kInteger, "", "1: a share of a graph's launch that was recorded as a whole",
     [](const Model& model, std::uint32_t row) { return number(activities(model).estimated[row] ? 1 : 0); }},
    {"queued_ns", Type::kInteger, "ns", "when the launch was put into the command buffer; NULL: not recorded",
     [](const Model& model, std::uint32_t row) { return if_time(activities(model).queued_ns[row]); }},
    {"submitted_ns", Type::kInteger, "ns", "when the command buffer went to the device; NULL: not recorded",
     [](const Model& model, std::uint32_t row) { return if_time(activities(model).submitted_ns[row]); }},
    {"grid_x", Type::kInteger, "", "blocks of the kernel; this and what follows is NULL for others",
     axis_of_kernel<&KernelDetail::grid, 0>},
    {"grid_y", Type::kInteger, "", "blocks", axis_of_kernel<&KernelDetail::grid, 1>},
    {"grid_z", Type::kInteger, "", "blocks", axis_of_kernel<&KernelDetail::grid, 2>},
    {"block_x", Type::kInteger, "", "threads of a block", axis_of_kernel<&KernelDetail::block, 0>},
    {"block_y", Type::kInteger, "", "threads of a block", axis_of_kernel<&KernelDetail::block, 1>},
    {"block_z", Type::kInteger, "", "threads of a block", axis_of_kernel<&KernelDetail::block, 2>},
    {"registers_per_thread", Type::kInteger, "", "registers", of_kernel<&KernelDetail::registers_per_thread>},
    {"static_shared_bytes", Type::kInteger, "bytes", "shared memory of a block, fixed at compilation",
     of_kernel<&KernelDetail::static_shared_bytes>},
    {"dynamic_shared_bytes", Type::kInteger, "bytes", "shared memory of a block, given at the launch",
     of_kernel<&KernelDetail::dynamic_shared_bytes>},
};
constexpr Lookup kActivityLookups[] = {
    {"launch_id", "begin_ns"},  {"range_id", "begin_ns"},      {"stream_id", "begin_ns"},   {"device_id", "begin_ns"},
    {"process_id", "begin_ns"}, {"collective_id", "begin_ns"}, {"correlation", "begin_ns"}, {"", "begin_ns"}};

const LaunchTable& launches(const Model& model) noexcept { return model.timeline().launches; }

constexpr Column kLaunchColumns[] = {
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) { return id_of(launches(model).process[row]); }},
    {"thread_id", Type::kInteger, "", "row of threads",
     [](const Model& model, std::uint32_t row) { return id_of(launches(model).thread[row]); }},
    {"time_ns", Type::kInteger, "ns", "begin of the launching call",
     [](const Model& model, std::uint32_t row) { return number(launches(model).time_ns[row]); }},
    {"call_id", Type::kInteger, "", "row of calls; NULL: not recorded",
     [](const Model& model, std::uint32_t row) { return id_of(launches(model).call[row]); }},
    {"noted_range_id", Type::kInteger, "", "row of ranges that was open at the launch, where the recording noted it",
     [](const Model& model, std::uint32_t row) { return id_of(launches(model).range[row]); }},
    {"correlation", Type::kInteger, "", "CUPTI's correlation id; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_not_zero(launches(model).correlation[row]); }},
};
constexpr Lookup kLaunchLookups[] = {
    {"thread_id", "time_ns"}, {"process_id", "time_ns"}, {"call_id", ""}, {"correlation", ""}, {"", "time_ns"}};

const GraphNodeTable& graph_nodes(const Model& model) noexcept { return model.timeline().graph_nodes; }

constexpr Column kGraphNodeColumns[] = {
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) { return id_of(graph_nodes(model).process[row]); }},
    {"graph_node", Type::kInteger, "", "node, as in activities",
     [](const Model& model, std::uint32_t row) { return number(graph_nodes(model).node[row]); }},
    {"time_ns", Type::kInteger, "ns", "from when on",
     [](const Model& model, std::uint32_t row) { return number(graph_nodes(model).time_ns[row]); }},
    {"correlation", Type::kInteger, "", "correlation id of the call that made it; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_not_zero(graph_nodes(model).correlation[row]); }},
};
constexpr Lookup kGraphNodeLookups[] = {{"graph_node", "time_ns"}, {"process_id", "time_ns"}};

constexpr Table kDeviceTables[] = {
    {"activities", "Device work: kernels, copies, memsets, launches of CUDA graphs", kActivityColumns,
     [](const Model& model) { return model.timeline().activities.size(); }, kActivityLookups},
    {"launches", "Calls that caused device work, one per correlation id", kLaunchColumns,
     [](const Model& model) { return model.timeline().launches.size(); }, kLaunchLookups},
    {"graph_nodes", "Nodes of CUDA graphs, and when they were made", kGraphNodeColumns,
     [](const Model& model) { return model.timeline().graph_nodes.size(); }, kGraphNodeLookups},
};

}  // namespace

std::span<const Table> device_tables() { return kDeviceTables; }

}  // namespace rangefinder::query
