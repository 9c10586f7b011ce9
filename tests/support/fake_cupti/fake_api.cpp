// SPDX-License-Identifier: MIT
#include "fake_state.hpp"

#include <algorithm>
#include <cstring>

// The functions of CUPTI that the library calls, and those that LibTorch binds when it is loaded.

using fake::enter;
using fake::state;

namespace {

CUpti_SubscriberHandle handle_of(fake::State& s) { return reinterpret_cast<CUpti_SubscriberHandle>(&s); }

CUptiResult enable_kind(CUpti_ActivityKind kind, const char* function) {
  fake::State& s = state();
  const std::lock_guard library(s.library);
  if (const CUptiResult result = enter(function, true); result != CUPTI_SUCCESS) return result;
  if (s.callback.load() == nullptr) fake::misuse(std::string(function) + " without a subscription");
  {
    const std::lock_guard lock(s.mutex);
    if (const auto found = s.kind_failures.find(kind); found != s.kind_failures.end() && found->second != 0) {
      return static_cast<CUptiResult>(found->second);
    }
  }
  if (static_cast<std::uint32_t>(kind) > s.limits.kind) return CUPTI_ERROR_INVALID_KIND;
  s.kind_on[kind] = true;
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && s.kernels_disabled && s.version < 130101)
    s.graph_ids_wrong = true;
  // "Activity kind overrides the settings done by this API if it is called after" (cupti_activity.h).
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
    for (auto& off : s.api_off[kind == CUPTI_ACTIVITY_KIND_RUNTIME ? 1 : 0]) off = false;
  }
  return CUPTI_SUCCESS;
}

CUptiResult enable_api(unsigned which, CUpti_CallbackId id, std::uint8_t on, const char* function) {
  fake::State& s = state();
  const std::lock_guard library(s.library);
  if (const CUptiResult result = enter(function, true); result != CUPTI_SUCCESS) return result;
  if (id >= fake::kCallbackIds) return CUPTI_ERROR_INVALID_PARAMETER;
  s.api_off[which][id] = on == 0;
  return CUPTI_SUCCESS;
}

CUptiResult subscribe(const char* function, CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user,
                      CUpti_SubscriberParams* params) {
  fake::State& s = state();
  const std::lock_guard library(s.library);
  if (const CUptiResult result = enter(function, true); result != CUPTI_SUCCESS) return result;
  if (params != nullptr && params->structSize != CUpti_SubscriberParams_STRUCT_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(s.mutex);
  if (s.callback.load() != nullptr || !s.holder.empty()) {
    const std::string holder = s.holder.empty() ? "CUPTI for itself" : s.holder;
    if (params != nullptr && params->oldSubscriberName != nullptr && params->oldSubscriberSize > 0) {
      const std::size_t size = std::min(holder.size(), params->oldSubscriberSize - 1);
      std::memcpy(params->oldSubscriberName, holder.data(), size);
      params->oldSubscriberName[size] = '\0';
    }
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  s.user = user;
  s.callback.store(callback, std::memory_order_release);
  *subscriber = handle_of(s);
  return CUPTI_SUCCESS;
}

CUptiResult enable_callbacks(std::uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                             CUpti_CallbackId first, CUpti_CallbackId last, const char* function) {
  fake::State& s = state();
  if (s.changing_callbacks.exchange(true)) fake::misuse("callbacks enabled or disabled by two threads at once");
  CUptiResult result;
  {
    const std::lock_guard library(s.library);
    result = enter(function, false);
    if (result == CUPTI_SUCCESS &&
        (subscriber == nullptr || static_cast<unsigned>(domain) >= 8 || !fake::has_callback(s, domain, first))) {
      result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (result == CUPTI_SUCCESS) {
      for (CUpti_CallbackId id = first; id <= last; ++id) s.callback_on[domain][id] = on != 0;
    }
  }
  s.changing_callbacks = false;
  return result;
}

}  // namespace

extern "C" {

// ---- about CUPTI -----------------------------------------------------------------------------------------------

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  if (const CUptiResult result = enter("cuptiGetVersion", false); result != CUPTI_SUCCESS) return result;
  *version = state().version;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(std::uint64_t* timestamp) {
  if (const CUptiResult result = enter("cuptiGetTimestamp", false); result != CUPTI_SUCCESS) return result;
  const CUpti_TimestampCallbackFunc callback = state().timestamp.load();
  *timestamp = callback != nullptr ? callback() : fake::device_now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR (simulated)";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  if (const CUptiResult result = enter("cuptiGetCallbackName", false); result != CUPTI_SUCCESS) return result;
  *name = fake::has_callback(state(), domain, id) ? fake::function_name(domain, id) : nullptr;
  return *name != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiFinalize() {
  (void)enter("cuptiFinalize", false);
  return CUPTI_SUCCESS;
}

// ---- subscription ----------------------------------------------------------------------------------------------

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user,
                              CUpti_SubscriberParams* params) {
  return subscribe("cuptiSubscribe_v2", subscriber, callback, user, params);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  return subscribe("cuptiSubscribe", subscriber, callback, user, nullptr);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  fake::State& s = state();
  const std::lock_guard library(s.library);
  if (const CUptiResult result = enter("cuptiUnsubscribe", false); result != CUPTI_SUCCESS) return result;
  if (subscriber != handle_of(s)) return CUPTI_ERROR_INVALID_PARAMETER;
  s.callback = nullptr;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  return enable_callbacks(on, subscriber, domain, id, id, "cuptiEnableCallback");
}

CUptiResult cuptiEnableDomain(std::uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain) {
  return enable_callbacks(on, subscriber, domain, 0, fake::kCallbackIds - 1, "cuptiEnableDomain");
}

// ---- activity --------------------------------------------------------------------------------------------------

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (const CUptiResult result = enter("cuptiSetThreadIdType", true); result != CUPTI_SUCCESS) return result;
  state().system_thread_ids = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) {
  fake::State& s = state();
  if (const CUptiResult result = enter("cuptiActivitySetAttribute", true); result != CUPTI_SUCCESS) return result;
  if (size == nullptr || value == nullptr || static_cast<std::uint32_t>(attribute) > s.limits.attribute)
    return CUPTI_ERROR_INVALID_PARAMETER;
  const std::uint32_t wanted = *size == 1 ? *static_cast<std::uint8_t*>(value) : 0xFFFE;
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER && s.request.load() != nullptr &&
      s.attributes[attribute] != wanted) {
    fake::misuse("PER_THREAD_ACTIVITY_BUFFER changed after the buffers were registered");
  }
  s.attributes[attribute] = wanted;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  fake::State& s = state();
  const std::lock_guard library(s.library);
  if (const CUptiResult result = enter("cuptiActivityRegisterCallbacks", false); result != CUPTI_SUCCESS) return result;
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (s.callback.load() == nullptr)
    fake::misuse("buffers registered without a subscription: that takes them from their owner");
  s.request = request;
  s.complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
  if (const CUptiResult result = enter("cuptiActivityRegisterTimestampCallback", true); result != CUPTI_SUCCESS)
    return result;
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  state().timestamp = timestamp;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return enable_kind(kind, "cuptiActivityEnable"); }

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  const CUptiResult result = enable_kind(kind, "cuptiActivityEnableAndDump");
  if (result == CUPTI_SUCCESS) fake::dump_objects(kind);
  return result;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  fake::State& s = state();
  const std::lock_guard library(s.library);
  if (const CUptiResult result = enter("cuptiActivityDisable", true); result != CUPTI_SUCCESS) return result;
  if (static_cast<std::uint32_t>(kind) >= fake::kKinds) return CUPTI_ERROR_INVALID_KIND;
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && s.kind_on[kind]) s.kernels_disabled = true;
  s.kind_on[kind] = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, std::uint8_t on) {
  return enable_api(1, id, on, "cuptiActivityEnableRuntimeApi");
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, std::uint8_t on) {
  return enable_api(0, id, on, "cuptiActivityEnableDriverApi");
}
CUptiResult cuptiActivityEnableAllSyncRecords(std::uint8_t) { return enter("cuptiActivityEnableAllSyncRecords", true); }
CUptiResult cuptiActivityEnableLatencyTimestamps(std::uint8_t) {
  return enter("cuptiActivityEnableLatencyTimestamps", true);
}
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(std::uint8_t) {
  return enter("cuptiActivityEnableCudaEventDeviceTimestamps", true);
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  if (const CUptiResult result = enter("cuptiActivityPushExternalCorrelationId", true); result != CUPTI_SUCCESS)
    return result;
  const std::lock_guard lock(state().mutex);
  state().external[{fake::thread_id(), kind}].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* last) {
  if (const CUptiResult result = enter("cuptiActivityPopExternalCorrelationId", true); result != CUPTI_SUCCESS)
    return result;
  const std::lock_guard lock(state().mutex);
  auto& stack = state().external[{fake::thread_id(), kind}];
  if (stack.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last != nullptr) *last = stack.back();
  stack.pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  fake::State& s = state();
  const std::lock_guard library(s.library);
  if (const CUptiResult result = enter("cuptiActivityFlushAll", true); result != CUPTI_SUCCESS) return result;
  if (s.request.load() == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  fake::flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  fake::State& s = state();
  const std::lock_guard library(s.library);
  if (const CUptiResult result = enter("cuptiActivityGetNumDroppedRecords", false); result != CUPTI_SUCCESS)
    return result;
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = s.dropped.exchange(0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  if (buffer == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto kind_at = [buffer](std::size_t at) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, buffer + at, sizeof kind);
    return kind;
  };
  std::size_t at = 0;
  if (*record != nullptr) {
    at = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer);
    const std::size_t bytes = fake::record_bytes(kind_at(at));
    if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    at += bytes;
  }
  // As the real one: half a record at the end is the end.
  if (at + sizeof(std::uint32_t) > valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  const std::size_t bytes = fake::record_bytes(kind_at(at));
  if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
  if (at + bytes > valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
  return CUPTI_SUCCESS;
}

}  // extern "C"
