// SPDX-License-Identifier: MIT
#include "report/nsight/views.hpp"

namespace rangefinder::report::nsight {

// Each is defined in a file of this folder.
MakeView make_nvtx_gpu_proj_trace, make_nvtx_gpu_proj_sum, make_nvtx_kern_sum, make_nvtx_pushpop_trace, make_nvtx_sum,
    make_nvtx_pushpop_sum, make_nvtx_startend_sum, make_cuda_gpu_kern_sum, make_cuda_gpu_trace, make_cuda_gpu_sum,
    make_cuda_gpu_mem_time_sum, make_cuda_gpu_mem_size_sum, make_cuda_api_sum, make_cuda_api_trace,
    make_cuda_api_gpu_sum, make_cuda_kern_exec_sum, make_cuda_kern_exec_trace;

namespace {

constexpr unsigned kNaming = kBase | kMangled | kNvtxName;

// Every view under one of Nsight's names, in the order in which `--view help` lists them.
constexpr View kNsightViews[] = {
    {"nvtx_gpu_proj_trace", "every range, with the span of its device work", kNeedsRanges | kNeedsActivities,
     make_nvtx_gpu_proj_trace, kNoVariant, true},
    {"nvtx_gpu_proj_sum", "ranges by name, with the span of their device work", kNeedsRanges | kNeedsActivities,
     make_nvtx_gpu_proj_sum, kNoVariant, true},
    {"nvtx_kern_sum", "kernels by the ranges that launched them", kNeedsRanges | kNeedsActivities, make_nvtx_kern_sum,
     kBase | kMangled, true},
    {"nvtx_pushpop_trace", "every push/pop range on the host, with its children", kNeedsRanges, make_nvtx_pushpop_trace,
     kNoVariant, true},
    {"nvtx_sum", "host time of ranges by name", kNeedsRanges, make_nvtx_sum, kNoVariant, true},
    {"nvtx_pushpop_sum", "host time of push/pop ranges by name", kNeedsRanges, make_nvtx_pushpop_sum, kNoVariant, true},
    {"nvtx_startend_sum", "host time of start/end ranges by name", kNeedsRanges, make_nvtx_startend_sum, kNoVariant,
     true},
    {"cuda_gpu_kern_sum", "kernels by name", kNeedsActivities, make_cuda_gpu_kern_sum, kNaming, true},
    {"cuda_gpu_trace", "every kernel, copy and memset", kNeedsActivities, make_cuda_gpu_trace, kNaming, true},
    {"cuda_gpu_sum", "kernels, copies and memsets by name", kNeedsActivities, make_cuda_gpu_sum, kNaming, true},
    {"cuda_gpu_mem_time_sum", "time of copies and memsets by kind", kNeedsActivities, make_cuda_gpu_mem_time_sum,
     kNoVariant, true},
    {"cuda_gpu_mem_size_sum", "bytes of copies and memsets by kind", kNeedsActivities, make_cuda_gpu_mem_size_sum,
     kNoVariant, true},
    {"cuda_api_sum", "CUDA API calls by name", kNeedsCalls, make_cuda_api_sum, kNoVariant, true},
    {"cuda_api_trace", "every CUDA API call", kNeedsCalls, make_cuda_api_trace, kNoVariant, true},
    {"cuda_api_gpu_sum", "CUDA API calls, kernels, copies and memsets by name", kNeedsActivities | kNeedsCalls,
     make_cuda_api_gpu_sum, kNaming, true},
    {"cuda_kern_exec_sum", "kernels with the calls that launched them, by name: API, queue, device",
     kNeedsActivities | kNeedsCalls, make_cuda_kern_exec_sum, kNaming, true},
    {"cuda_kern_exec_trace", "every kernel with the call that launched it: API, queue, device",
     kNeedsActivities | kNeedsCalls, make_cuda_kern_exec_trace, kNaming, true},
};

}  // namespace

std::span<const View> views() noexcept { return kNsightViews; }

}  // namespace rangefinder::report::nsight
