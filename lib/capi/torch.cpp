// SPDX-License-Identifier: MIT
//
// Compiled into the component for LibTorch.
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/c/torch.h>
#include <rangefinder/torch/collectives.hpp>
#include <rangefinder/torch/memory.hpp>
#include <rangefinder/torch/operators.hpp>

namespace capi = rangefinder::capi;

// No padding, which the language does not say of a struct with a double.
template <>
inline constexpr bool capi::kHasNoPadding<rf_operator_options> = sizeof(rf_operator_options) ==
                                                                 sizeof(size_t) + sizeof(double) + 8 * sizeof(bool);

struct rf_operator_recording {
  explicit rf_operator_recording(const rangefinder::torch::OperatorOptions& options) : recording(options) {}
  rangefinder::torch::OperatorRecording recording;
};

struct rf_collective_recording {
  explicit rf_collective_recording(const rangefinder::torch::CollectiveOptions& options) : recording(options) {}
  rangefinder::torch::CollectiveRecording recording;
};

struct rf_memory_recording {
  explicit rf_memory_recording(const rangefinder::torch::MemoryRecordingOptions& options) : recording(options) {}
  rangefinder::torch::MemoryRecording recording;
};

namespace {

constexpr std::size_t kLeastOperatorOptions = RANGEFINDER_SIZE_UP_TO(rf_operator_options, reserved);
constexpr std::size_t kLeastCollectiveOptions = RANGEFINDER_SIZE_UP_TO(rf_collective_options, reserved);
constexpr std::size_t kLeastMemoryOptions = RANGEFINDER_SIZE_UP_TO(rf_memory_options, reserved);
constexpr std::size_t kLeastHostMemory = RANGEFINDER_SIZE_UP_TO(rf_host_memory, untracked);

rf_operator_options default_operator_options() noexcept {
  const rangefinder::torch::OperatorOptions from;
  rf_operator_options options{};
  options.sampling = from.sampling;
  options.shapes = from.shapes;
  options.user_scopes = from.user_scopes;
  return options;
}

rf_collective_options default_collective_options() noexcept {
  rf_collective_options options{};
  options.inputs = rangefinder::torch::CollectiveOptions().inputs;
  return options;
}

rf_memory_options default_memory_options() noexcept {
  const rangefinder::torch::MemoryRecordingOptions from;
  rf_memory_options options{};
  options.history_events = from.history_events;
  options.host = from.host;
  options.cuda = from.cuda;
  options.statistics_at_steps = from.statistics_at_steps;
  return options;
}

}  // namespace

rf_status rf_operator_options_init(rf_operator_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastOperatorOptions, default_operator_options());
  });
}

rf_status rf_operator_recording_start(const rf_operator_options* options, rf_operator_recording** recording) noexcept {
  if (recording == nullptr) return capi::null_argument(__func__, "recording");
  *recording = nullptr;
  return capi::guarded(__func__, [&, function = __func__] {
    rf_operator_options known = default_operator_options();
    rf_status status = capi::read_struct(function, options, kLeastOperatorOptions, known);
    if (status == RF_STATUS_OK) status = capi::check_reserved(function, known.reserved);
    if (status != RF_STATUS_OK) return status;
    if (!(known.sampling >= 0 && known.sampling <= 1))
      return capi::fail(RF_STATUS_INVALID_ARGUMENT,
                        {function, ": sampling: ", std::to_string(known.sampling), " is no share; use 0 to 1"});
    *recording = new rf_operator_recording({known.shapes, known.sampling, known.user_scopes});
    return RF_STATUS_OK;
  });
}

void rf_operator_recording_free(rf_operator_recording* recording) noexcept { delete recording; }

rf_status rf_collective_options_init(rf_collective_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastCollectiveOptions, default_collective_options());
  });
}

rf_status rf_collective_recording_start(const rf_collective_options* options,
                                        rf_collective_recording** recording) noexcept {
  if (recording == nullptr) return capi::null_argument(__func__, "recording");
  *recording = nullptr;
  return capi::guarded(__func__, [&, function = __func__] {
    rf_collective_options known = default_collective_options();
    rf_status status = capi::read_struct(function, options, kLeastCollectiveOptions, known);
    if (status == RF_STATUS_OK) status = capi::check_reserved(function, known.reserved);
    if (status != RF_STATUS_OK) return status;
    *recording = new rf_collective_recording({known.inputs});
    return RF_STATUS_OK;
  });
}

const char* rf_collective_recording_state(const rf_collective_recording* recording) noexcept {
  return recording != nullptr ? recording->recording.state().c_str() : "";
}

void rf_collective_recording_free(rf_collective_recording* recording) noexcept { delete recording; }

rf_status rf_memory_options_init(rf_memory_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastMemoryOptions, default_memory_options());
  });
}

rf_status rf_memory_recording_start(const rf_memory_options* options, rf_memory_recording** recording) noexcept {
  if (recording == nullptr) return capi::null_argument(__func__, "recording");
  *recording = nullptr;
  return capi::guarded(__func__, [&, function = __func__] {
    rf_memory_options known = default_memory_options();
    rf_status status = capi::read_struct(function, options, kLeastMemoryOptions, known);
    if (status == RF_STATUS_OK) status = capi::check_reserved(function, known.reserved);
    if (status != RF_STATUS_OK) return status;
    rangefinder::torch::MemoryRecordingOptions wanted;
    wanted.host = known.host;
    wanted.cuda = known.cuda;
    wanted.history_events = known.history_events;
    wanted.snapshot_when_out_of_memory = capi::text_or(known.snapshot_when_out_of_memory);
    wanted.statistics_at_steps = known.statistics_at_steps;
    *recording = new rf_memory_recording(wanted);
    return RF_STATUS_OK;
  });
}

const char* rf_memory_recording_host_state(const rf_memory_recording* recording) noexcept {
  return recording != nullptr ? recording->recording.host_state().c_str() : "";
}

const char* rf_memory_recording_cuda_state(const rf_memory_recording* recording) noexcept {
  return recording != nullptr ? recording->recording.cuda_state().c_str() : "";
}

void rf_memory_recording_free(rf_memory_recording* recording) noexcept { delete recording; }

rf_status rf_host_memory_get(rf_host_memory* memory) noexcept {
  if (memory == nullptr) return capi::null_argument(__func__, "memory");
  return capi::guarded(__func__, [&, function = __func__] {
    const rangefinder::torch::HostMemory from = rangefinder::torch::host_memory();
    const rf_host_memory known{0, from.allocated_bytes, from.peak_bytes, from.allocations, from.untracked};
    return capi::write_struct(function, memory, memory->struct_size, kLeastHostMemory, known);
  });
}

void rf_host_memory_reset_peak(void) noexcept { rangefinder::torch::reset_host_memory_peak(); }

rf_status rf_device_memory_count(void) noexcept {
  return capi::guarded(
      __func__, [function = __func__] { return capi::finish(function, rangefinder::torch::count_device_memory()); });
}

rf_status rf_device_memory_snapshot(const char* path) noexcept {
  if (path == nullptr) return capi::null_argument(__func__, "path");
  return capi::guarded(
      __func__, [&, function = __func__] { return capi::finish(function, rangefinder::torch::memory_snapshot(path)); });
}
