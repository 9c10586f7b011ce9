// SPDX-License-Identifier: MIT
#include "raw_cupti.hpp"

#include "base/library.hpp"
#include "source/cupti/cupti_api.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace bench {
namespace {

namespace cupti = rangefinder::source::cupti;

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

cupti::CuptiApi api;
decltype(&::cuptiActivityPushExternalCorrelationId) push_id = nullptr;
decltype(&::cuptiActivityPopExternalCorrelationId) pop_id = nullptr;
CUpti_SubscriberHandle subscriber = nullptr;
std::mutex mutex;
std::vector<std::uint8_t*> unused;
std::vector<std::pair<std::uint8_t*, std::size_t>> filled;
bool keep_filled = false;

void CUPTIAPI nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  const std::lock_guard lock(mutex);
  if (unused.empty()) unused.push_back(static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes)));
  *buffer = unused.back();
  unused.pop_back();
  *bytes = kBufferBytes;
  *records = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard lock(mutex);
  if (keep_filled)
    filled.emplace_back(buffer, valid);
  else
    unused.push_back(buffer);
}

void check(const char* what, CUptiResult result) {
  if (result == CUPTI_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result));
  std::_Exit(3);
}

bool is_launch(std::string_view name) {
  return name.starts_with("cuLaunchKernel") || name.starts_with("cudaLaunchKernel") ||
         name.starts_with("cuGraphLaunch") || name.starts_with("cudaGraphLaunch");
}

void enable_callbacks() {
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    const char* name = nullptr;
    for (std::uint32_t id = 1; api.cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS && name != nullptr; ++id) {
      if (is_launch(name)) check("cuptiEnableCallback", api.cuptiEnableCallback(1, subscriber, domain, id));
    }
  }
}

/// Reads a kernel's record whole, which is what any use of it begins with.
void walk(std::uint8_t* buffer, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (api.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    CUpti_ActivityKernel10 copy;
    const bool kernel = record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    std::memcpy(&copy, record, kernel ? sizeof copy : sizeof(CUpti_ActivityAPI));
    asm volatile("" ::"r"(&copy) : "memory");
  }
}

void walk_filled() {
  check("cuptiActivityFlushAll", api.cuptiActivityFlushAll(0));
  const std::lock_guard lock(mutex);
  for (const auto& [buffer, valid] : filled) {
    walk(buffer, valid);
    unused.push_back(buffer);
  }
  filled.clear();
}

}  // namespace

void start_raw_cupti(const RawRequest& what) {
  rangefinder::Result<cupti::CuptiApi> found = cupti::load_cupti();
  if (!found) {
    std::fprintf(stderr, "%s\n", found.error().message().c_str());
    std::_Exit(3);
  }
  api = std::move(*found);
  keep_filled = what.walk;
  check("cuptiSubscribe", api.cuptiSubscribe(&subscriber, nothing, nullptr));
  if (what.latency_timestamps)
    check("cuptiActivityEnableLatencyTimestamps", api.cuptiActivityEnableLatencyTimestamps(1));
  check("cuptiActivityRegisterCallbacks", api.cuptiActivityRegisterCallbacks(requested, completed));
  if (what.callbacks) enable_callbacks();
  for (const CUpti_ActivityKind kind : what.kinds) check("cuptiActivityEnable", api.cuptiActivityEnable(kind));
  if (!what.external_correlation) return;
  const auto library = rangefinder::base::Library::open(api.path);
  if (library) {
    push_id = library->function<decltype(push_id)>("cuptiActivityPushExternalCorrelationId");
    pop_id = library->function<decltype(pop_id)>("cuptiActivityPopExternalCorrelationId");
  }
  check("cuptiActivityPushExternalCorrelationId",
        push_id != nullptr && pop_id != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_SUPPORTED);
}

void flush_raw_cupti() {
  if (keep_filled)
    std::thread(walk_filled).join();
  else
    check("cuptiActivityFlushAll", api.cuptiActivityFlushAll(0));
}

RawRange::RawRange() noexcept {
  if (push_id != nullptr) push_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 1);
}

RawRange::~RawRange() {
  std::uint64_t id = 0;
  if (pop_id != nullptr) pop_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &id);
}

}  // namespace bench
