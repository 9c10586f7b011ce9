// SPDX-License-Identifier: MIT
#include "analysis/allocation_calls.hpp"

#include "analysis/calls.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace rangefinder::analysis {
namespace {

/// Whether a call of that name frees; nothing for calls that neither allocate nor free.
std::optional<bool> frees(std::string_view name) noexcept {
  static constexpr std::string_view kAllocating[] = {"Malloc",
                                                     "MallocAsync",
                                                     "MallocFromPoolAsync",
                                                     "MallocManaged",
                                                     "MallocHost",
                                                     "MallocPitch",
                                                     "MallocArray",
                                                     "MallocMipmappedArray",
                                                     "Malloc3D",
                                                     "Malloc3DArray",
                                                     "HostAlloc",
                                                     "HostMalloc",
                                                     "ExtMallocWithFlags",
                                                     "MemAlloc",
                                                     "MemAllocAsync",
                                                     "MemAllocFromPoolAsync",
                                                     "MemAllocHost",
                                                     "MemAllocManaged",
                                                     "MemAllocPitch",
                                                     "MemHostAlloc",
                                                     "MemCreate",
                                                     "ArrayCreate",
                                                     "Array3DCreate",
                                                     "MipmappedArrayCreate"};
  static constexpr std::string_view kFreeing[] = {
      "Free",    "FreeAsync",    "FreeHost",    "FreeArray",  "FreeMipmappedArray", "HostFree",
      "MemFree", "MemFreeAsync", "MemFreeHost", "MemRelease", "ArrayDestroy",       "MipmappedArrayDestroy"};
  const std::string_view stem = call_stem(name);
  if (std::find(std::begin(kAllocating), std::end(kAllocating), stem) != std::end(kAllocating)) return false;
  if (std::find(std::begin(kFreeing), std::end(kFreeing), stem) != std::end(kFreeing)) return true;
  return std::nullopt;
}

void take_call(const Timeline& timeline, CallIndex call, AllocationCall& out) {
  if (call == kNone) return;
  out.call = call;
  out.thread = timeline.calls.thread[call];
  out.host_ns = std::max<std::int64_t>(timeline.calls.end_ns[call] - timeline.calls.begin_ns[call], 0);
}

std::vector<AllocationCall> recorded(const Timeline& timeline) {
  const CudaAllocationTable& table = timeline.cuda_allocations;
  const CallFinder calls(timeline);
  std::vector<AllocationCall> out;
  out.reserve(table.size());
  for (std::uint32_t row = 0; row < table.size(); ++row) {
    AllocationCall one;
    one.row = row;
    one.time_ns = table.time_ns[row];
    one.freed = table.freed[row] != 0;
    take_call(timeline, calls.find(table.process[row], table.correlation[row], one.time_ns), one);
    out.push_back(one);
  }
  return out;
}

std::vector<AllocationCall> by_name(const Timeline& timeline) {
  std::vector<AllocationCall> out;
  for (const CallIndex call : outermost_calls(timeline)) {
    const std::optional<bool> freed = frees(timeline.text(timeline.calls.name[call]));
    if (!freed) continue;
    AllocationCall one;
    one.time_ns = timeline.calls.begin_ns[call];
    one.freed = *freed;
    take_call(timeline, call, one);
    out.push_back(one);
  }
  return out;
}

/// An address is free to be given out again once it was freed: the last allocation of each that no free follows.
void mark_kept(const Timeline& timeline, std::vector<AllocationCall>& calls) {
  std::map<std::pair<ProcessIndex, std::uint64_t>, std::size_t> live;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::uint32_t row = calls[i].row;
    if (row == kNone) continue;
    const std::pair place{timeline.cuda_allocations.process[row], timeline.cuda_allocations.address[row]};
    if (calls[i].freed)
      live.erase(place);
    else
      live[place] = i;
  }
  for (const auto& [place, i] : live) calls[i].kept = true;
}

}  // namespace

std::vector<AllocationCall> allocation_calls(const Timeline& timeline) {
  std::vector<AllocationCall> calls = timeline.cuda_allocations.size() != 0 ? recorded(timeline) : by_name(timeline);
  std::stable_sort(calls.begin(), calls.end(),
                   [](const AllocationCall& a, const AllocationCall& b) { return a.time_ns < b.time_ns; });
  mark_kept(timeline, calls);
  return calls;
}

}  // namespace rangefinder::analysis
