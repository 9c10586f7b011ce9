// SPDX-License-Identifier: MIT
#include "source/counters/range_profiler.hpp"

#include "source/counters/checked_call.hpp"

#include <string>
#include <utility>

namespace rangefinder::source::counters {
namespace {

// The outermost level is level 1, and the only one: each further level would take a pass of its own.
constexpr std::uint16_t kOnlyLevel = 1;

}  // namespace

Result<std::unique_ptr<RangeProfiler>> RangeProfiler::open(const ProfilerApi& api, CUcontext context,
                                                           const MetricSet& metrics, std::size_t most_ranges) {
  std::unique_ptr<RangeProfiler> profiler(new RangeProfiler(api, context, metrics, most_ranges));
  Status status = profiler->enable();
  if (status.ok()) status = profiler->prepare();
  if (status.ok()) status = profiler->start();
  if (!status.ok()) return std::move(status).error();
  return profiler;
}

RangeProfiler::~RangeProfiler() { disable(); }

Status RangeProfiler::enable() {
  auto params = sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  params.ctx = context_;
  Status status = RANGEFINDER_CHECKED(cuptiRangeProfilerEnable, params);
  if (status.ok()) object_ = params.pRangeProfilerObject;
  return status;
}

Status RangeProfiler::prepare() {
  auto params =
      sized<CUpti_RangeProfiler_GetCounterDataSize_Params>(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  params.pRangeProfilerObject = object_;
  params.pMetricNames = const_cast<const char**>(metrics_.library_metrics().data());
  params.numMetrics = metrics_.library_metrics().size();
  params.maxNumOfRanges = most_ranges_;
  params.maxNumRangeTreeNodes = static_cast<std::uint32_t>(most_ranges_);
  Status status = RANGEFINDER_CHECKED(cuptiRangeProfilerGetCounterDataSize, params);
  if (status.ok()) image_.resize(params.counterDataSize);
  return status;
}

Status RangeProfiler::initialise_image() {
  auto params = sized<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
      CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  params.pRangeProfilerObject = object_;
  params.counterDataSize = image_.size();
  params.pCounterData = image_.data();
  return RANGEFINDER_CHECKED(cuptiRangeProfilerCounterDataImageInitialize, params);
}

Status RangeProfiler::start() {
  if (Status status = initialise_image(); !status.ok()) return status;
  auto config = sized<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  config.pRangeProfilerObject = object_;
  config.configSize = metrics_.config_image().size();
  config.pConfig = metrics_.config_image().data();
  config.counterDataImageSize = image_.size();
  config.pCounterDataImage = image_.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = most_ranges_;
  config.numNestingLevels = 1;
  config.minNestingLevel = kOnlyLevel;
  config.passIndex = 0;
  config.targetNestingLevel = kOnlyLevel;
  if (Status status = RANGEFINDER_CHECKED(cuptiRangeProfilerSetConfig, config); !status.ok()) return status;
  auto params = sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  params.pRangeProfilerObject = object_;
  Status status = RANGEFINDER_CHECKED(cuptiRangeProfilerStart, params);
  started_ = status.ok();
  return status;
}

Status RangeProfiler::push(const char* name) {
  auto params = sized<CUpti_RangeProfiler_PushRange_Params>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
  params.pRangeProfilerObject = object_;
  params.pRangeName = name;
  return RANGEFINDER_CHECKED(cuptiRangeProfilerPushRange, params);
}

Status RangeProfiler::pop() {
  auto params = sized<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
  params.pRangeProfilerObject = object_;
  return RANGEFINDER_CHECKED(cuptiRangeProfilerPopRange, params);
}

Result<CountedRanges> RangeProfiler::stop() {
  auto params = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  params.pRangeProfilerObject = object_;
  started_ = false;
  if (Status status = RANGEFINDER_CHECKED(cuptiRangeProfilerStop, params); !status.ok())
    return std::move(status).error();
  if (params.isAllPassSubmitted == 0) {
    return Error(
        ErrorCode::kUnsupported,
        "cuptiRangeProfilerStop: another pass is needed although the metrics should fit into one; choose fewer");
  }
  auto decode = sized<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  decode.pRangeProfilerObject = object_;
  if (Status status = RANGEFINDER_CHECKED(cuptiRangeProfilerDecodeData, decode); !status.ok())
    return std::move(status).error();
  auto info =
      sized<CUpti_RangeProfiler_GetCounterDataInfo_Params>(CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  if (Status status = RANGEFINDER_CHECKED(cuptiRangeProfilerGetCounterDataInfo, info); !status.ok())
    return std::move(status).error();
  return CountedRanges{image_, info.numTotalRanges, decode.numOfRangeDropped};
}

Result<CountedRanges> RangeProfiler::collect() {
  Result<CountedRanges> counted = stop();
  if (!counted) return counted;
  if (Status status = start(); !status.ok()) return std::move(status).error();
  return counted;
}

Result<std::string> name_of_range(const ProfilerApi& api, const CountedRanges& counted, std::size_t index) {
  auto params = sized<CUpti_RangeProfiler_CounterData_GetRangeInfo_Params>(
      CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE);
  params.pCounterDataImage = counted.image.data();
  params.counterDataImageSize = counted.image.size();
  params.rangeIndex = index;
  params.rangeDelimiter = "/";
  if (Status status =
          checked("cuptiRangeProfilerCounterDataGetRangeInfo", api.cuptiRangeProfilerCounterDataGetRangeInfo(&params));
      !status.ok())
    return std::move(status).error();
  return std::string(params.rangeName != nullptr ? params.rangeName : "");
}

Result<CountedRanges> RangeProfiler::close() {
  Result<CountedRanges> counted = started_ ? stop() : Result<CountedRanges>(CountedRanges{});
  disable();
  return counted;
}

void RangeProfiler::disable() noexcept {
  if (object_ == nullptr) return;
  if (started_) {
    auto params = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    params.pRangeProfilerObject = object_;
    (void)api_.cuptiRangeProfilerStop(&params);
    started_ = false;
  }
  auto params = sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  params.pRangeProfilerObject = object_;
  (void)api_.cuptiRangeProfilerDisable(&params);
  object_ = nullptr;
}

}  // namespace rangefinder::source::counters
