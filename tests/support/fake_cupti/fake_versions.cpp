// SPDX-License-Identifier: MIT
#include "fake_state.hpp"

#include <algorithm>

// What the library of each CUDA has: its symbols, its header's enums, and the strides of its own
// cuptiActivityGetNextRecord, as seen on 12.1.105, 12.4.127, 12.6.80, 12.8.90, 12.9.79 and 13.0.85.

namespace fake {
namespace {

constexpr RecordBytes kMemcpy5{CUPTI_ACTIVITY_KIND_MEMCPY, 88};
constexpr RecordBytes kKernel9{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 208};
constexpr RecordBytes kSerialKernel9{CUPTI_ACTIVITY_KIND_KERNEL, 208};
constexpr RecordBytes kEvent1{CUPTI_ACTIVITY_KIND_CUDA_EVENT, 24};
constexpr RecordBytes kSync1{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 40};
constexpr RecordBytes kMemory3{CUPTI_ACTIVITY_KIND_MEMORY2, 120};

const std::vector<Version>& versions() {
  static const auto* const all = new std::vector<Version>{
      {18,
       {CUPTI_CB_DOMAIN_NVTX, 711, 444, 20, 8, 52},
       {"cuptiSubscribe_v2", "cuptiGetGraphExecId", "cuptiActivityEnableRuntimeApi", "cuptiActivityEnableDriverApi",
        "cuptiActivityEnableAllSyncRecords"},
       {kMemcpy5,
        kKernel9,
        kSerialKernel9,
        kEvent1,
        kSync1,
        kMemory3,
        {CUPTI_ACTIVITY_KIND_DEVICE, 176},
        {CUPTI_ACTIVITY_KIND_CONTEXT, 16},
        {CUPTI_ACTIVITY_KIND_OVERHEAD, 40},
        {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 48},
        {CUPTI_ACTIVITY_KIND_JIT, 64}}},
      {22,
       {CUPTI_CB_DOMAIN_STATE, 753, 467, 21, 9, 52},
       {"cuptiSubscribe_v2", "cuptiActivityEnableRuntimeApi", "cuptiActivityEnableDriverApi",
        "cuptiActivityEnableAllSyncRecords"},
       {kMemcpy5, kKernel9, kSerialKernel9, kEvent1, kSync1, kMemory3, {CUPTI_ACTIVITY_KIND_CONTEXT, 24}}},
      {24,
       {CUPTI_CB_DOMAIN_STATE, 762, 479, 21, 9, 52},
       {"cuptiSubscribe_v2", "cuptiActivityEnableAllSyncRecords"},
       {kMemcpy5, kKernel9, kSerialKernel9, kEvent1, kSync1}},
      {26, {CUPTI_CB_DOMAIN_STATE, 781, 486, 21, 9, 54}, {"cuptiSubscribe_v2"}, {kKernel9, kSerialKernel9}},
      {28, {CUPTI_CB_DOMAIN_STATE, 783, 486, 21, 10, 55}, {"cuptiSubscribe_v2"}, {kKernel9, kSerialKernel9}},
      {130001, {CUPTI_CB_DOMAIN_STATE, 806, 522, 23, 10, 55}, {}, {}}};
  return *all;
}

/// A newer one than the headers: more of everything.
constexpr Limits kNewer{CUPTI_CB_DOMAIN_STATE, kCallbackIds - 1, kCallbackIds - 1, 31, 15, 63};
constexpr std::uint32_t kGrown = 16;

}  // namespace

void become(State& s, std::uint32_t api_version) {
  s.version = api_version;
  s.limits = kNewer;
  s.absent.clear();
  for (auto& bytes : s.record_bytes) bytes = 0;
  if (api_version > versions().back().api) {
    for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
      if (const std::size_t bytes = header_record_bytes(kind); bytes != 0)
        s.record_bytes[kind] = static_cast<std::uint32_t>(bytes) + kGrown;
    }
    return;
  }
  const auto found = std::find_if(versions().begin(), versions().end(),
                                  [api_version](const Version& version) { return version.api == api_version; });
  if (found == versions().end()) {
    s.misuse = "no CUPTI of API version " + std::to_string(api_version) + " in the table of versions";
    return;
  }
  s.limits = found->limits;
  s.absent = found->absent;
  for (const RecordBytes& record : found->records) s.record_bytes[record.kind] = record.bytes;
}

bool has(const State& s, std::string_view function) { return !s.absent.contains(function); }

bool has_callback(const State& s, CUpti_CallbackDomain domain, std::uint32_t id) {
  if (domain > s.limits.domain) return false;
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return id <= s.limits.driver_function;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return id <= s.limits.runtime_function;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return id <= s.limits.resource_callback;
    default:
      return id < kCallbackIds;
  }
}

}  // namespace fake

extern "C" {

void fakecupti_become(std::uint32_t api_version) { fake::become(fake::state(), api_version); }
bool fakecupti_has(const char* function) { return fake::has(fake::state(), function); }

}  // extern "C"
