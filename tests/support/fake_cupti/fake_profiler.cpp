// SPDX-License-Identifier: MIT
#include "fake_state.hpp"

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

// CUPTI's profilers: the host's half, which resolves and evaluates metrics; the range profiler; PM sampling; and what
// of the driver goes with them. A config image is the names of its metrics; a counter data image, intervals of time,
// which metrics are evaluated over.

using fake::enter;
using fake::misuse;
using fake::state;

struct CUpti_Profiler_Host_Object {
  CUpti_ProfilerType type;
  std::vector<std::string> metrics;
};

struct CUpti_RangeProfiler_Object {
  enum Stage { kEnabled, kConfigured, kStarted, kStopped } stage = kEnabled;
  std::uint32_t context = 0;
  std::uint8_t* image = nullptr;
  std::size_t image_bytes = 0;
  bool has_open = false;
  std::vector<struct Interval> ranges;
};

struct CUpti_PmSampling_Object {
  std::size_t device = 0;
  bool configured = false;
  bool started = false;
  bool overflowed = false;
  bool ended = false;  // stopped, and not decoded since
  std::uint64_t interval_ns = 0;
  std::size_t most_samples = 0;  // of the hardware buffer
  std::uint64_t decoded_until = 0;
};

struct Interval {
  char name[24];
  std::uint64_t begin;
  std::uint64_t end;
};

namespace {

constexpr char kConfigMagic[] = "FAKECFG\n";
constexpr std::uint64_t kDataMagic = 0x41544144454B4146;  // "FAKEDATA"
constexpr std::size_t kHardwareBytes = 4096;              // of a sample

struct ImageHead {
  std::uint64_t magic;
  std::uint64_t most;
  std::uint64_t count;
};

Interval* intervals_of(std::uint8_t* image) { return reinterpret_cast<Interval*>(image + sizeof(ImageHead)); }
ImageHead& head_of(std::uint8_t* image) { return *reinterpret_cast<ImageHead*>(image); }
const ImageHead* valid_head(const std::uint8_t* image, std::size_t bytes) {
  if (image == nullptr || bytes < sizeof(ImageHead)) return nullptr;
  const auto* head = reinterpret_cast<const ImageHead*>(image);
  return head->magic == kDataMagic && bytes >= sizeof(ImageHead) + head->most * sizeof(Interval) ? head : nullptr;
}

bool is_ratio(std::string_view metric) { return metric.find("pct") != std::string_view::npos; }

bool knows(std::string_view metric) {
  const std::lock_guard lock(state().mutex);
  return metric.find("__") != std::string_view::npos && state().forgotten_metrics.count(metric) == 0;
}

double value_of(std::string_view metric) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().metric_values.find(metric);
  return found != state().metric_values.end() ? found->second : 1;
}

/// Instructions' operations are counted in a pass of their own, as on real chips.
std::size_t passes_of(const std::vector<std::string>& metrics) {
  const auto of_instructions = [](const std::string& metric) { return metric.find("_sass_") != std::string::npos; };
  const bool any = std::any_of(metrics.begin(), metrics.end(), of_instructions);
  const bool all = std::all_of(metrics.begin(), metrics.end(), of_instructions);
  return any && !all ? 2 : 1;
}

std::vector<std::string> metrics_in(const std::uint8_t* image, std::size_t bytes) {
  std::string text(reinterpret_cast<const char*>(image), bytes);
  std::vector<std::string> metrics;
  if (text.rfind(kConfigMagic, 0) != 0) {
    misuse("a config image that is none");
    return metrics;
  }
  for (std::size_t at = sizeof kConfigMagic - 1; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    metrics.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return metrics;
}

template <typename Params>
bool well_formed(const Params* params, std::size_t size, const char* function) {
  if (params != nullptr && params->structSize == size && params->pPriv == nullptr) return true;
  misuse(std::string(function) + " with parameters of another version");
  return false;
}

#define FAKE_ENTER(function, Type)                                                               \
  if (!well_formed(params, Type##_STRUCT_SIZE, #function)) return CUPTI_ERROR_INVALID_PARAMETER; \
  if (const CUptiResult result = enter(#function, needs_driver); result != CUPTI_SUCCESS) return result

CUptiResult out_of_order(const char* function) {
  misuse(std::string(function) + " out of order");
  return CUPTI_ERROR_INVALID_OPERATION;
}

struct CurrentContext {
  std::uint64_t generation = 0;
  std::vector<std::uint32_t> stack;
};
thread_local CurrentContext* t_current = nullptr;

CurrentContext& current_context() {
  if (t_current == nullptr) {
    t_current = new CurrentContext;  // as long as the process: a thread of it may end later
    fake::keep(t_current);
  }
  if (t_current->generation != fake::generation()) *t_current = {fake::generation(), {}};
  return *t_current;
}

CUcontext handle_of(std::uint32_t context) { return reinterpret_cast<CUcontext>(std::uintptr_t{context}); }
std::uint32_t context_of(CUcontext handle) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}

/// CUPTI waits for the device where a range begins and ends.
void wait_for_device(std::uint32_t context) {
  std::uint64_t free_at = 0;
  {
    const std::lock_guard lock(state().mutex);
    for (const fake::Stream& stream : state().streams) {
      if (stream.context == context) free_at = std::max(free_at, stream.free_at);
    }
  }
  fake::wait_until(free_at);
}

CUptiResult image_size(std::size_t intervals, std::size_t& bytes) {
  bytes = sizeof(ImageHead) + intervals * sizeof(Interval);
  return CUPTI_SUCCESS;
}

CUptiResult initialise(std::uint8_t* image, std::size_t bytes) {
  if (image == nullptr || bytes < sizeof(ImageHead)) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memset(image, 0, bytes);
  head_of(image) = {kDataMagic, (bytes - sizeof(ImageHead)) / sizeof(Interval), 0};
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

// ---- control ---------------------------------------------------------------------------------------------------

void fakecupti_set_chip(const char* name) {
  const std::lock_guard lock(state().mutex);
  state().chip = fake::kept_name(name);
}
void fakecupti_set_current_context(std::uint32_t id) {
  current_context().stack.clear();
  if (id != 0) current_context().stack.push_back(id);
}
void fakecupti_set_metric(const char* metric, double value) {
  const std::lock_guard lock(state().mutex);
  state().metric_values[metric] = value;
}
void fakecupti_forget_metric(const char* metric) {
  const std::lock_guard lock(state().mutex);
  state().forgotten_metrics.insert(metric);
}
void fakecupti_drop_ranges(std::size_t ranges) { state().ranges_to_drop = ranges; }
void fakecupti_want_another_pass(bool wanted) { state().another_pass = wanted; }
void fakecupti_overflow_samples() { state().overflow_samples = true; }
std::size_t fakecupti_profilers_open() { return state().profilers_open; }

// ---- the driver ------------------------------------------------------------------------------------------------

CUresult cuInit(unsigned) {
  (void)enter("cuInit", false);
  return state().driver ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuDeviceGetCount(int* count) {
  if (!state().driver) return CUDA_ERROR_NOT_INITIALIZED;
  const std::lock_guard lock(state().mutex);
  *count = static_cast<int>(state().devices.size());
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* text, int size, CUdevice device) {
  const std::lock_guard lock(state().mutex);
  for (const fake::Device& known : state().devices) {
    if (static_cast<CUdevice>(known.id) == device)
      std::snprintf(text, static_cast<std::size_t>(size), "%s", known.name.c_str());
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {  // as in records of devices
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = 2048;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = 141ull << 30;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  const std::lock_guard lock(state().mutex);
  *flags = 0;
  *active = 0;
  for (const fake::Context& context : state().contexts) {
    if (static_cast<CUdevice>(context.device) == device) *active = 1;
  }
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  const CurrentContext& current = current_context();
  *context = current.stack.empty() ? nullptr : handle_of(current.stack.back());
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  const CurrentContext& current = current_context();
  if (current.stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(state().mutex);
  for (const fake::Context& context : state().contexts) {
    if (context.id == current.stack.back()) *device = static_cast<CUdevice>(context.device);
  }
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  current_context().stack.push_back(context_of(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  CurrentContext& current = current_context();
  if (current.stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = handle_of(current.stack.back());
  current.stack.pop_back();
  return CUDA_SUCCESS;
}

// ---- the host's half -------------------------------------------------------------------------------------------

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
  constexpr bool needs_driver = false;
  FAKE_ENTER(cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params);
  if (params->pChipName == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (std::string_view(params->pChipName) != state().chip.load()) return CUPTI_ERROR_INVALID_CHIP_NAME;
  params->pHostObject = new CUpti_Profiler_Host_Object{params->profilerType, {}};
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
  constexpr bool needs_driver = false;
  FAKE_ENTER(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params);
  delete params->pHostObject;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* params) {
  constexpr bool needs_driver = false;
  FAKE_ENTER(cuptiProfilerHostGetSupportedChips, CUpti_Profiler_Host_GetSupportedChips_Params);
  static thread_local const char* chip;
  chip = state().chip.load();
  params->numChips = 1;
  params->ppChipNames = &chip;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  constexpr bool needs_driver = false;
  FAKE_ENTER(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
  for (std::size_t i = 0; i < params->numMetrics; ++i) {
    const std::string metric = params->ppMetricNames[i];
    const bool sampled = params->pHostObject->type == CUPTI_PROFILER_TYPE_PM_SAMPLING;
    if (!knows(metric) || (sampled && metric.find("_sass_") != std::string::npos))
      return CUPTI_ERROR_INVALID_METRIC_NAME;
    params->pHostObject->metrics.push_back(metric);
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  constexpr bool needs_driver = false;
  FAKE_ENTER(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params);
  params->configImageSize = sizeof kConfigMagic - 1;
  for (const std::string& metric : params->pHostObject->metrics) params->configImageSize += metric.size() + 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params) {
  constexpr bool needs_driver = false;
  FAKE_ENTER(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params);
  std::string text = kConfigMagic;
  for (const std::string& metric : params->pHostObject->metrics) text += metric + "\n";
  if (params->configImageSize < text.size()) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::memcpy(params->pConfigImage, text.data(), text.size());
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  constexpr bool needs_driver = false;
  FAKE_ENTER(cuptiProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params);
  params->numOfPasses = passes_of(metrics_in(params->pConfigImage, params->configImageSize));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  constexpr bool needs_driver = false;
  FAKE_ENTER(cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  const ImageHead* head = valid_head(params->pCounterDataImage, params->counterDataImageSize);
  if (head == nullptr || params->rangeIndex >= head->count) return CUPTI_ERROR_INVALID_PARAMETER;
  const Interval& interval = intervals_of(const_cast<std::uint8_t*>(params->pCounterDataImage))[params->rangeIndex];
  for (std::size_t i = 0; i < params->numMetrics; ++i) {
    const std::string_view metric = params->ppMetricNames[i];
    const auto length = static_cast<double>(interval.end - interval.begin);
    params->pMetricValues[i] = is_ratio(metric) ? value_of(metric) : value_of(metric) * length;
  }
  return CUPTI_SUCCESS;
}

// ---- the device ------------------------------------------------------------------------------------------------

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiProfilerDeviceSupported, CUpti_Profiler_DeviceSupported_Params);
  params->isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  params->architecture = params->sli = params->vGpu = params->confidentialCompute = params->cmp = params->wsl =
      CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params);
  params->pChipName = state().chip.load();
  return CUPTI_SUCCESS;
}

// ---- the range profiler ----------------------------------------------------------------------------------------

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable_Params);
  if (params->ctx == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  params->pRangeProfilerObject = new CUpti_RangeProfiler_Object;
  params->pRangeProfilerObject->context = context_of(params->ctx);
  ++state().profilers_open;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable_Params);
  if (params->pRangeProfilerObject->stage == CUpti_RangeProfiler_Object::kStarted)
    return out_of_order("cuptiRangeProfilerDisable");
  delete params->pRangeProfilerObject;
  --state().profilers_open;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params);
  if (params->maxNumRangeTreeNodes < params->maxNumOfRanges) return CUPTI_ERROR_INVALID_PARAMETER;
  return image_size(params->maxNumOfRanges, params->counterDataSize);
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerCounterDataImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  return initialise(params->pCounterData, params->counterDataSize);
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params);
  CUpti_RangeProfiler_Object& profiler = *params->pRangeProfilerObject;
  if (profiler.stage == CUpti_RangeProfiler_Object::kStarted) return out_of_order("cuptiRangeProfilerSetConfig");
  if (passes_of(metrics_in(params->pConfig, params->configSize)) != 1) misuse("user replay of several passes");
  if (params->range != CUPTI_UserRange || params->replayMode != CUPTI_UserReplay) misuse("another replay mode");
  if (params->minNestingLevel != 1 || params->numNestingLevels != 1 || params->targetNestingLevel != 1)
    misuse("levels of nesting that take more passes");
  if (valid_head(params->pCounterDataImage, params->counterDataImageSize) == nullptr)
    return CUPTI_ERROR_INVALID_PARAMETER;
  profiler.image = params->pCounterDataImage;
  profiler.image_bytes = params->counterDataImageSize;
  profiler.stage = CUpti_RangeProfiler_Object::kConfigured;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start_Params);
  if (params->pRangeProfilerObject->stage != CUpti_RangeProfiler_Object::kConfigured)
    return out_of_order("cuptiRangeProfilerStart");
  params->pRangeProfilerObject->stage = CUpti_RangeProfiler_Object::kStarted;
  params->pRangeProfilerObject->ranges.clear();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* params) {
  if (!well_formed(params, CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE, "cuptiRangeProfilerStop"))
    return CUPTI_ERROR_INVALID_PARAMETER;
  CUpti_RangeProfiler_Object& profiler = *params->pRangeProfilerObject;
  const bool in_order = profiler.stage == CUpti_RangeProfiler_Object::kStarted && !profiler.has_open;
  profiler.stage = CUpti_RangeProfiler_Object::kStopped;  // where it fails, too
  if (const CUptiResult result = enter("cuptiRangeProfilerStop", true); result != CUPTI_SUCCESS) return result;
  if (!in_order) return out_of_order("cuptiRangeProfilerStop");
  params->isAllPassSubmitted = state().another_pass ? 0 : 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange_Params);
  CUpti_RangeProfiler_Object& profiler = *params->pRangeProfilerObject;
  if (profiler.stage != CUpti_RangeProfiler_Object::kStarted || profiler.has_open || params->pRangeName == nullptr)
    return out_of_order("cuptiRangeProfilerPushRange");
  wait_for_device(profiler.context);
  Interval range{};
  std::strncpy(range.name, params->pRangeName, sizeof range.name - 1);
  for (const Interval& other : profiler.ranges) {
    if (std::strcmp(other.name, range.name) == 0) misuse("two ranges of one name");
  }
  range.begin = fake::device_now();
  profiler.ranges.push_back(range);
  profiler.has_open = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* params) {
  if (!well_formed(params, CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE, "cuptiRangeProfilerPopRange"))
    return CUPTI_ERROR_INVALID_PARAMETER;
  CUpti_RangeProfiler_Object& profiler = *params->pRangeProfilerObject;
  const bool in_order = profiler.stage == CUpti_RangeProfiler_Object::kStarted && profiler.has_open;
  profiler.has_open = false;  // where it fails, too
  if (const CUptiResult result = enter("cuptiRangeProfilerPopRange", true); result != CUPTI_SUCCESS) return result;
  if (!in_order) return out_of_order("cuptiRangeProfilerPopRange");
  wait_for_device(profiler.context);
  profiler.ranges.back().end = fake::device_now();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params);
  CUpti_RangeProfiler_Object& profiler = *params->pRangeProfilerObject;
  if (profiler.stage != CUpti_RangeProfiler_Object::kStopped) return out_of_order("cuptiRangeProfilerDecodeData");
  ImageHead& head = head_of(profiler.image);
  params->numOfRangeDropped = 0;
  for (const Interval& range : profiler.ranges) {
    if (state().ranges_to_drop > 0 || head.count == head.most) {
      if (state().ranges_to_drop > 0) --state().ranges_to_drop;
      ++params->numOfRangeDropped;
      continue;
    }
    intervals_of(profiler.image)[head.count++] = range;
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerGetCounterDataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params);
  const ImageHead* head = valid_head(params->pCounterDataImage, params->counterDataImageSize);
  if (head == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  params->numTotalRanges = head->count;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiRangeProfilerCounterDataGetRangeInfo, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
  const ImageHead* head = valid_head(params->pCounterDataImage, params->counterDataImageSize);
  if (head == nullptr || params->rangeIndex >= head->count || params->rangeDelimiter == nullptr)
    return CUPTI_ERROR_INVALID_PARAMETER;
  params->rangeName = intervals_of(const_cast<std::uint8_t*>(params->pCounterDataImage))[params->rangeIndex].name;
  return CUPTI_SUCCESS;
}

// ---- PM sampling -----------------------------------------------------------------------------------------------

CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingEnable, CUpti_PmSampling_Enable_Params);
  params->pPmSamplingObject = new CUpti_PmSampling_Object;
  params->pPmSamplingObject->device = params->deviceIndex;
  ++state().profilers_open;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingDisable, CUpti_PmSampling_Disable_Params);
  if (params->pPmSamplingObject->started) misuse("sampling disabled while it runs");
  delete params->pPmSamplingObject;
  --state().profilers_open;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingGetCounterDataSize, CUpti_PmSampling_GetCounterDataSize_Params);
  return image_size(params->maxSamples, params->counterDataSize);
}
CUptiResult cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingCounterDataImageInitialize, CUpti_PmSampling_CounterDataImage_Initialize_Params);
  return initialise(params->pCounterData, params->counterDataSize);
}
CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingSetConfig, CUpti_PmSampling_SetConfig_Params);
  CUpti_PmSampling_Object& sampling = *params->pPmSamplingObject;
  if (sampling.started) return out_of_order("cuptiPmSamplingSetConfig");
  if (passes_of(metrics_in(params->pConfig, params->configSize)) != 1) return CUPTI_ERROR_NOT_SUPPORTED;
  const bool old_chip = std::string_view(state().chip.load()) == "GA100";
  if (old_chip && params->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL)
    return CUPTI_ERROR_NOT_SUPPORTED;
  // The system clock of the double is 1 GHz.
  sampling.interval_ns = params->samplingInterval;
  sampling.most_samples = params->hardwareBufferSize / kHardwareBytes;
  sampling.configured = true;
  sampling.overflowed = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingStart, CUpti_PmSampling_Start_Params);
  CUpti_PmSampling_Object& sampling = *params->pPmSamplingObject;
  if (!sampling.configured || sampling.started) return out_of_order("cuptiPmSamplingStart");
  sampling.started = true;
  sampling.decoded_until = fake::device_now();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingStop, CUpti_PmSampling_Stop_Params);
  CUpti_PmSampling_Object& sampling = *params->pPmSamplingObject;
  if (!sampling.started) return out_of_order("cuptiPmSamplingStop");
  sampling.started = false;
  sampling.ended = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingDecodeData, CUpti_PmSampling_DecodeData_Params);
  CUpti_PmSampling_Object& sampling = *params->pPmSamplingObject;
  if (valid_head(params->pCounterDataImage, params->counterDataImageSize) == nullptr || !sampling.configured)
    return CUPTI_ERROR_INVALID_PARAMETER;
  ImageHead& head = head_of(params->pCounterDataImage);
  if (head.count != 0) misuse("an image decoded into twice");
  const std::uint64_t now = fake::device_now();
  const std::uint64_t due = (now - sampling.decoded_until) / sampling.interval_ns;
  // It stays so until sampling is started again.
  if (state().overflow_samples.exchange(false) || due > sampling.most_samples) sampling.overflowed = true;
  params->overflow = sampling.overflowed ? 1 : 0;
  if (sampling.overflowed) return CUPTI_ERROR_OUT_OF_MEMORY;
  params->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  const auto put = [&](std::uint64_t begin, std::uint64_t end) {
    if (head.count == head.most) {
      params->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
      return;
    }
    intervals_of(params->pCounterDataImage)[head.count++] = {"", begin, end};
  };
  for (std::uint64_t i = 0; i < due; ++i) {
    const std::uint64_t begin = sampling.decoded_until;
    sampling.decoded_until += sampling.interval_ns;
    put(fake::stamp(begin), fake::stamp(sampling.decoded_until));
  }
  // After the end there is a sample of no length, and one that was never taken.
  if (sampling.ended) put(fake::stamp(now), fake::stamp(now)), put(0, 0);
  sampling.ended = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingGetCounterDataInfo, CUpti_PmSampling_GetCounterDataInfo_Params);
  const ImageHead* head = valid_head(params->pCounterDataImage, params->counterDataImageSize);
  if (head == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  params->numTotalSamples = head->most;
  params->numPopulatedSamples = params->numCompletedSamples = head->count;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params* params) {
  constexpr bool needs_driver = true;
  FAKE_ENTER(cuptiPmSamplingCounterDataGetSampleInfo, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
  const ImageHead* head = valid_head(params->pCounterDataImage, params->counterDataImageSize);
  if (head == nullptr || params->sampleIndex >= head->count) return CUPTI_ERROR_INVALID_PARAMETER;
  const Interval& sample = intervals_of(const_cast<std::uint8_t*>(params->pCounterDataImage))[params->sampleIndex];
  params->startTimestamp = sample.begin;
  params->endTimestamp = sample.end;
  return CUPTI_SUCCESS;
}

}  // extern "C"
