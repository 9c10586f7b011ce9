// SPDX-License-Identifier: MIT
#include "advice/corpus/meeting.hpp"

#include "timeline/collectives.hpp"

namespace rangefinder::testing::corpus {
namespace {

struct Named {
  CollectiveKind kind;
  const char* c10d;
  const char* kernel;
};
constexpr Named kNames[] = {
    {CollectiveKind::kAllReduce, "allreduce",
     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    {CollectiveKind::kAllGather, "_allgather_base",
     "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    {CollectiveKind::kReduceScatter, "_reduce_scatter_base",
     "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    {CollectiveKind::kAllToAll, "alltoall_base", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"},
};

const Named& named(CollectiveKind kind) {
  for (const Named& one : kNames)
    if (one.kind == kind) return one;
  return kNames[0];
}

}  // namespace

ProgramCollective describe_collective(CollectiveKind kind, std::int64_t elements, const char* dtype, int ranks) {
  ProgramCollective made;
  made.kind = kind;
  made.name = named(kind).c10d;
  made.dtype = dtype;
  made.elements_in = kind == CollectiveKind::kAllGather ? elements / ranks : elements;
  made.elements_out = kind == CollectiveKind::kReduceScatter ? elements / ranks : elements;
  return made;
}

double collective_us(const ProgramCollective& collective, int ranks, bool on_device) {
  const auto elements = static_cast<double>(std::max(collective.elements_in, collective.elements_out));
  const double bytes = elements * static_cast<double>(timeline::element_bytes(collective.dtype));
  const double share = static_cast<double>(ranks - 1) / ranks;
  const double passes = collective.kind == CollectiveKind::kAllReduce ? 2 * share : share;
  return on_device ? 22 + passes * bytes / kLinkBytes / 1000 : 90 + passes * bytes / 3.0 / 1000;
}

std::string nccl_kernel_name(CollectiveKind kind) { return named(kind).kernel; }

KernelDetail kernel_detail(const Kernel& kernel) {
  KernelDetail detail;
  detail.grid[0] = kernel.grid;
  detail.grid[1] = detail.grid[2] = 1;
  detail.block[0] = kernel.block;
  detail.block[1] = detail.block[2] = 1;
  detail.registers_per_thread = kernel.registers;
  detail.dynamic_shared_bytes = kernel.shared_bytes;
  detail.shared_executed_bytes = kernel.shared_bytes > 0 ? 233'472 : 16'384;
  return detail;
}

}  // namespace rangefinder::testing::corpus
