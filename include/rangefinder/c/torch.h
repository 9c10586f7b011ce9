// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/rangefinder.h>

// Component `torch` for C: functions of librangefinder_torch.so, in the rules of rangefinder.h. Loading that library is
// all that attribution `forward` needs; what is here records more. torch/operators.hpp, torch/memory.hpp and
// torch/collectives.hpp say more about each.

#if defined(__cplusplus)
extern "C" {
#endif

// ---- operators ----------------------------------------------------------------------------------------------------

typedef struct rf_operator_options {
  size_t struct_size;
  double sampling;   ///< share of the outermost operators of each thread that are recorded, 0 to 1; 1
  bool shapes;       ///< shapes and types of inputs, values of numbers; false
  bool user_scopes;  ///< RECORD_USER_SCOPE, torch.profiler.record_function, as ranges; true
  bool reserved[6];
} rf_operator_options;
RF_API rf_status rf_operator_options_init(rf_operator_options* options, size_t struct_size) RF_NOEXCEPT;

/// Records LibTorch's operators while it lives and a session records.
typedef struct rf_operator_recording rf_operator_recording;

/// `options`: null for the defaults.
///
/// Errors:  RF_STATUS_INVALID_ARGUMENT for a share that is none; *recording is null then.
/// Threads: start and free while no operator runs; several may live at once, they record once.
/// Cost:    as OperatorRecording of torch/operators.hpp.
RF_API rf_status rf_operator_recording_start(const rf_operator_options* options,
                                             rf_operator_recording** recording) RF_NOEXCEPT;
/// Ends it. Null does nothing.
RF_API void rf_operator_recording_free(rf_operator_recording* recording) RF_NOEXCEPT;

// ---- collectives --------------------------------------------------------------------------------------------------

typedef struct rf_collective_options {
  size_t struct_size;
  bool inputs;  ///< collectives of all backends, Gloo's among them, from the inputs of c10d's operators; true
  bool reserved[7];
} rf_collective_options;
RF_API rf_status rf_collective_options_init(rf_collective_options* options, size_t struct_size) RF_NOEXCEPT;

/// Records c10d's collectives, sends and receives while it lives and a session records.
typedef struct rf_collective_recording rf_collective_recording;

/// `options`: null for the defaults.
///
/// Errors:  RF_STATUS_INTERNAL without memory; *recording is null then. A LibTorch without c10d is no error: the state
///          below says it.
/// Threads: start and free while no operator runs; several may live at once, they record once.
/// Cost:    as CollectiveRecording of torch/collectives.hpp.
RF_API rf_status rf_collective_recording_start(const rf_collective_options* options,
                                               rf_collective_recording** recording) RF_NOEXCEPT;
/// "recorded", or the reason why nothing is; "" for null. Holds until the recording is freed.
RF_API const char* rf_collective_recording_state(const rf_collective_recording* recording) RF_NOEXCEPT;
/// Ends it. Null does nothing.
RF_API void rf_collective_recording_free(rf_collective_recording* recording) RF_NOEXCEPT;

// ---- memory -------------------------------------------------------------------------------------------------------

typedef struct rf_memory_options {
  size_t struct_size;
  const char* snapshot_when_out_of_memory;  ///< where to write one when a device runs out; null: nowhere
  uint64_t history_events;                  ///< that LibTorch keeps with their stacks, for snapshots; 0
  bool host;                                ///< tensors in the memory of the host; true
  bool cuda;                                ///< tensors on devices; true. Initialises CUDA where there is a device
  bool statistics_at_steps;                 ///< the allocators' statistics as counters; true
  bool reserved[5];
} rf_memory_options;
RF_API rf_status rf_memory_options_init(rf_memory_options* options, size_t struct_size) RF_NOEXCEPT;

/// Records what LibTorch's allocators give and take back while it lives and a session records.
typedef struct rf_memory_recording rf_memory_recording;

/// `options`: null for the defaults.
///
/// Errors:  RF_STATUS_INTERNAL without memory; *recording is null then. What of the devices or the host cannot be
///          recorded is no error: the states below say it.
/// Threads: start and free while no operator runs; several may live at once, they record once.
/// Cost:    as MemoryRecording of torch/memory.hpp.
RF_API rf_status rf_memory_recording_start(const rf_memory_options* options,
                                           rf_memory_recording** recording) RF_NOEXCEPT;
/// "recorded", "off" or the reason why nothing is; "" for null. Holds until the recording is freed.
RF_API const char* rf_memory_recording_host_state(const rf_memory_recording* recording) RF_NOEXCEPT;
RF_API const char* rf_memory_recording_cuda_state(const rf_memory_recording* recording) RF_NOEXCEPT;
/// Ends it. Null does nothing.
RF_API void rf_memory_recording_free(rf_memory_recording* recording) RF_NOEXCEPT;

/// Blocks of the host that were allocated while a recording with `host` lived. The caller sets struct_size.
typedef struct rf_host_memory {
  size_t struct_size;
  uint64_t allocated_bytes;  ///< that are still there
  uint64_t peak_bytes;       ///< the most since recording began, or since rf_host_memory_reset_peak()
  uint64_t allocations;      ///< ever
  uint64_t untracked;        ///< allocations that these figures lost again: no memory to remember them
} rf_host_memory;
RF_API rf_status rf_host_memory_get(rf_host_memory* memory) RF_NOEXCEPT;
RF_API void rf_host_memory_reset_peak(void) RF_NOEXCEPT;

/// Writes the caching allocator's statistics of each device as counters.
///
/// Errors: RF_STATUS_UNSUPPORTED without a CUDA device, or where LibTorch was built without CUDA.
RF_API rf_status rf_device_memory_count(void) RF_NOEXCEPT;
/// Writes what the caching allocator holds as the pickle that PyTorch's memory viewer opens.
///
/// Errors: as before; RF_STATUS_IO with path and reason.
RF_API rf_status rf_device_memory_snapshot(const char* path) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
