// SPDX-License-Identifier: MIT
#pragma once

#include "base/library.hpp"

#include <rangefinder/result.hpp>

#include <string>

namespace rangefinder::source::nvml {

// Types and numbers of nvml.h and cuda.h that we use, so that neither is needed to build. They are of stable ABIs.
using Device = struct nvmlDevice_st*;
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;

/// The device, the driver or the process's rights lack it: asking again is of no use. 2: an invalid argument, as older
/// drivers call fields that they do not know; 4: no permission; 13: the function is not there.
constexpr bool is_lacking(Return result) noexcept {
  return result == 2 || result == kNotSupported || result == 4 || result == 13;
}

struct Utilisation {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  unsigned value_type;
  Return result;
  union {
    double number;
    unsigned long long integer;
    unsigned small;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

inline constexpr int kClockSm = 1;
inline constexpr int kClockMemory = 2;
inline constexpr int kTemperatureGpu = 0;
inline constexpr unsigned kFieldPowerInstant = 186;  // mW of the moment; boards refresh it every 20 ms or so

/// A pointer for each function that we call. Without the first group nothing is sampled; of the others, null where the
/// library is too old: what they would tell is not sampled then.
struct NvmlApi {
  Return (*init)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*device_by_pci)(const char*, Device*) = nullptr;

  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*utilisation)(Device, Utilisation*) = nullptr;
  Return (*clock)(Device, int, unsigned*) = nullptr;
  Return (*power)(Device, unsigned*) = nullptr;
  Return (*field_values)(Device, int, FieldValue*) = nullptr;
  Return (*temperature)(Device, int, unsigned*) = nullptr;
  Return (*energy)(Device, unsigned long long*) = nullptr;
  Return (*throttle_reasons)(Device, unsigned long long*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;

  std::string path;  ///< the file it came from
};

/// What tells which devices CUDA uses in this process. Calls fail until the program itself has initialised CUDA; we
/// never do.
struct DriverApi {
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*pci_bus_id)(char*, int, int) = nullptr;
  int (*primary_context)(int, unsigned*, int*) = nullptr;

  bool whole() const noexcept {
    return count != nullptr && get != nullptr && pci_bus_id != nullptr && primary_context != nullptr;
  }
};

/// Finds libnvidia-ml.so.1, or the file that RANGEFINDER_NVML_LIBRARY names; that is ignored in a program that runs
/// with raised rights. The error says in one line what is missing and what to do.
Result<NvmlApi> load_nvml();

/// The driver that this process holds; nothing in it where it holds none. A file that RANGEFINDER_NVML_LIBRARY names
/// may play it.
DriverApi find_driver() noexcept;

}  // namespace rangefinder::source::nvml
