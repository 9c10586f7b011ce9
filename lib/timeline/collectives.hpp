// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>

namespace rangefinder::timeline {

/// What a library calls a collective: "allreduce", "_allgather_base", "nccl:all_reduce", "c10d::alltoall_base_",
/// "AllReduce". kOther: none that is known.
CollectiveKind collective_kind(std::string_view name) noexcept;

/// Of NCCL or RCCL, by the kernel's name.
bool is_collective_kernel(std::string_view kernel) noexcept;
/// What the kernel's name tells: ncclDevKernel_AllReduce_Sum_f32_RING_LL(...). kOther: any (SendRecv, Generic).
CollectiveKind collective_kind_of_kernel(std::string_view kernel) noexcept;

/// Bytes of an element by the type's name in PyTorch ("Float", "BFloat16"), C++ ("long int") or NCCL ("ncclInt8"); 0:
/// not known.
std::uint64_t element_bytes(std::string_view dtype) noexcept;

/// The row of a group, added if it is new. A group of the same name and other members is another group.
ProcessGroupIndex add_process_group(Timeline& timeline, const ProcessGroupInfo& group);

/// Sorts Timeline::collectives and fills ActivityTable::collective, once launches are joined: a kernel belongs to the
/// outermost call of a collective that its launch was in. Kernels whose call is not in the data get a row each, of
/// which the kernel's name tells the kind; those of a CUDA graph what the call told that was captured. Rows of NCCL's
/// plugin become a part of the row of c10d's call that they came of; a kernel outside a call belongs to what the plugin
/// told next.
void join_collectives(Timeline& timeline);

}  // namespace rangefinder::timeline
