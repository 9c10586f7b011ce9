// SPDX-License-Identifier: MIT
#include "source/counters/device_sampling.hpp"

#include "source/counters/checked_call.hpp"

#include <utility>

namespace rangefinder::source::counters {
namespace {

// Other users of CUPTI measured 4 to 7 KiB with up to four metrics; the API does not tell.
constexpr std::size_t kHardwareBytesPerSample = std::size_t{16} << 10;

}  // namespace

Result<std::unique_ptr<DeviceSampling>> DeviceSampling::open(const ProfilerApi& api, std::uint32_t device,
                                                             MetricSet metrics, const SamplingOptions& options) {
  std::unique_ptr<DeviceSampling> sampling(new DeviceSampling(api, device, std::move(metrics), options));
  Status status = sampling->enable();
  if (status.ok()) status = sampling->configure();
  if (status.ok()) status = sampling->prepare_image();
  if (status.ok()) status = sampling->start();
  if (!status.ok()) return std::move(status).error();
  return sampling;
}

DeviceSampling::~DeviceSampling() { disable(); }

Status DeviceSampling::enable() {
  auto params = sized<CUpti_PmSampling_Enable_Params>(CUpti_PmSampling_Enable_Params_STRUCT_SIZE);
  params.deviceIndex = device_;
  Status status = RANGEFINDER_CHECKED(cuptiPmSamplingEnable, params);
  if (status.ok()) object_ = params.pPmSamplingObject;
  return status;
}

Status DeviceSampling::configure() {
  auto params = sized<CUpti_PmSampling_SetConfig_Params>(CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.configSize = metrics_.config_image().size();
  params.pConfig = metrics_.config_image().data();
  params.hardwareBufferSize = std::size_t{2} * options_.most_samples * kHardwareBytesPerSample;
  params.samplingInterval = options_.interval_ns;
  params.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  params.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  CUptiResult result = api_.cuptiPmSamplingSetConfig(&params);
  if (result == CUPTI_ERROR_NOT_SUPPORTED || result == CUPTI_ERROR_INVALID_PARAMETER) {
    // Turing and GA100 count cycles of the system's clock, which is near 1 GHz; samples have times of their own.
    params.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
    result = api_.cuptiPmSamplingSetConfig(&params);
  }
  return checked("cuptiPmSamplingSetConfig", result);
}

Status DeviceSampling::prepare_image() {
  auto params =
      sized<CUpti_PmSampling_GetCounterDataSize_Params>(CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.pMetricNames = const_cast<const char**>(metrics_.library_metrics().data());
  params.numMetrics = metrics_.library_metrics().size();
  params.maxSamples = options_.most_samples;
  if (Status status = RANGEFINDER_CHECKED(cuptiPmSamplingGetCounterDataSize, params); !status.ok()) return status;
  image_.resize(params.counterDataSize);
  return initialise_image();
}

Status DeviceSampling::initialise_image() {
  auto params = sized<CUpti_PmSampling_CounterDataImage_Initialize_Params>(
      CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.counterDataSize = image_.size();
  params.pCounterData = image_.data();
  return RANGEFINDER_CHECKED(cuptiPmSamplingCounterDataImageInitialize, params);
}

Status DeviceSampling::start() {
  auto params = sized<CUpti_PmSampling_Start_Params>(CUpti_PmSampling_Start_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  Status status = RANGEFINDER_CHECKED(cuptiPmSamplingStart, params);
  started_ = status.ok();
  return status;
}

Status DeviceSampling::stop() {
  auto params = sized<CUpti_PmSampling_Stop_Params>(CUpti_PmSampling_Stop_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  started_ = false;
  return RANGEFINDER_CHECKED(cuptiPmSamplingStop, params);
}

Status DeviceSampling::read_samples(DecodedSamples& into) const {
  auto info = sized<CUpti_PmSampling_GetCounterDataInfo_Params>(CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  if (Status status = RANGEFINDER_CHECKED(cuptiPmSamplingGetCounterDataInfo, info); !status.ok()) return status;
  for (std::size_t index = 0; index < info.numCompletedSamples; ++index) {
    auto sample = sized<CUpti_PmSampling_CounterData_GetSampleInfo_Params>(
        CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE);
    sample.pPmSamplingObject = object_;
    sample.pCounterDataImage = image_.data();
    sample.counterDataImageSize = image_.size();
    sample.sampleIndex = index;
    if (Status status = RANGEFINDER_CHECKED(cuptiPmSamplingCounterDataGetSampleInfo, sample); !status.ok())
      return status;
    // Slots that were never filled, and the sample of no length that comes after the end.
    if (sample.startTimestamp == 0 || sample.endTimestamp <= sample.startTimestamp) continue;
    Result<std::vector<double>> values = metrics_.evaluate(image_, index);
    if (!values) return std::move(values).error();
    into.samples.push_back({sample.startTimestamp, sample.endTimestamp, std::move(*values)});
  }
  return {};
}

Result<DecodedSamples> DeviceSampling::decode() {
  auto params = sized<CUpti_PmSampling_DecodeData_Params>(CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.pCounterDataImage = image_.data();
  params.counterDataImageSize = image_.size();
  const CUptiResult result = api_.cuptiPmSamplingDecodeData(&params);
  DecodedSamples decoded;
  const bool hardware_full = params.overflow != 0 || result == CUPTI_ERROR_OUT_OF_MEMORY;
  decoded.overflowed =
      hardware_full || params.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  if (!hardware_full) {
    Status status = checked("cuptiPmSamplingDecodeData", result);
    if (status.ok()) status = read_samples(decoded);
    if (!status.ok()) return std::move(status).error();
  }
  Status status = initialise_image();
  // A buffer that was full stays so, and the samples after a full image are lost, until sampling begins anew.
  if (status.ok() && decoded.overflowed && started_) {
    status = stop();
    if (status.ok()) status = configure();
    if (status.ok()) status = start();
  }
  if (!status.ok()) return std::move(status).error();
  return decoded;
}

Result<DecodedSamples> DeviceSampling::close() {
  Status status = started_ ? stop() : Status();
  Result<DecodedSamples> last = status.ok() ? decode() : Result<DecodedSamples>(std::move(status).error());
  disable();
  return last;
}

void DeviceSampling::disable() noexcept {
  if (object_ == nullptr) return;
  if (started_) (void)stop();
  auto params = sized<CUpti_PmSampling_Disable_Params>(CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  (void)api_.cuptiPmSamplingDisable(&params);
  object_ = nullptr;
}

}  // namespace rangefinder::source::counters
