// SPDX-License-Identifier: MIT
#include "fake_nvml.h"

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Board {
  const char* place;
  unsigned milliwatts;
  unsigned long long millijoules;
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool cuda = true;
  bool hang = false;
  bool hidden = false;
  bool mig = false;
  bool contexts[2] = {true, true};  // by CUDA's number
  std::map<std::string, int> results;
  std::map<std::string, int> calls;
  Board boards[2];
};

State& state() {
  static State* const the_state = [] {
    auto* made = new State;
    made->boards[0] = {"0000:17:00.0", 100'000, 1'000'000};
    made->boards[1] = {"0000:65:00.0", 300'000, 5'000'000};
    return made;
  }();
  return *the_state;
}

/// Notes the call; what it is to return.
int called(const char* function) {
  const std::lock_guard lock(state().mutex);
  ++state().calls[function];
  const auto found = state().results.find(function);
  return found != state().results.end() ? found->second : 0;
}

Board board_of(void* device) {
  const std::lock_guard lock(state().mutex);
  return *static_cast<Board*>(device);
}

}  // namespace

extern "C" {

void fakenvml_reset(void) {
  const std::lock_guard lock(state().mutex);
  state().cuda = true;
  state().hang = false;
  state().hidden = state().mig = false;
  state().contexts[0] = state().contexts[1] = true;
  state().results.clear();
  state().calls.clear();
  state().boards[0] = {"0000:17:00.0", 100'000, 1'000'000};
  state().boards[1] = {"0000:65:00.0", 300'000, 5'000'000};
  state().changed.notify_all();
}
void fakenvml_set_cuda(int initialised) {
  const std::lock_guard lock(state().mutex);
  state().cuda = initialised != 0;
}
void fakenvml_set_context(int cuda_device, int active) {
  const std::lock_guard lock(state().mutex);
  state().contexts[cuda_device] = active != 0;
}
void fakenvml_hide_second(int hidden) {
  const std::lock_guard lock(state().mutex);
  state().hidden = hidden != 0;
}
void fakenvml_set_mig(int on) {
  const std::lock_guard lock(state().mutex);
  state().mig = on != 0;
}
void fakenvml_fail(const char* function, int result) {
  const std::lock_guard lock(state().mutex);
  state().results[function] = result;
}
void fakenvml_set_power(int device, unsigned milliwatts) {
  const std::lock_guard lock(state().mutex);
  state().boards[device].milliwatts = milliwatts;
}
void fakenvml_set_energy(int device, unsigned long long millijoules) {
  const std::lock_guard lock(state().mutex);
  state().boards[device].millijoules = millijoules;
}
void fakenvml_hang(int hang) {
  const std::lock_guard lock(state().mutex);
  state().hang = hang != 0;
  state().changed.notify_all();
}
int fakenvml_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}

// ---- NVML

int nvmlInit_v2() { return called("nvmlInit_v2"); }
const char* nvmlErrorString(int result) { return result == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.00");
  return called("nvmlSystemGetDriverVersion");
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** device) {
  const int result = called("nvmlDeviceGetHandleByPciBusId_v2");
  for (Board& board : state().boards)
    if (std::strcmp(board.place, place) == 0) *device = &board;
  return result;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) {
  rates[0] = 87;
  rates[1] = 35;
  return called("nvmlDeviceGetUtilizationRates");
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1755 : 2619;
  return called("nvmlDeviceGetClockInfo");
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = board_of(device).milliwatts;
  return called("nvmlDeviceGetPowerUsage");
}
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  unsigned type;
  int result;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  {
    std::unique_lock lock(state().mutex);
    state().changed.wait(lock, [] { return !state().hang; });
  }
  const int result = called("nvmlDeviceGetFieldValues");
  for (int i = 0; i < count; ++i) {
    values[i].value = board_of(device).milliwatts;
    values[i].result = values[i].field == 186 ? 0 : 3;
  }
  return result;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return called("nvmlDeviceGetTemperature");
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = board_of(device).millijoules;
  return called("nvmlDeviceGetTotalEnergyConsumption");
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 4;  // power cap
  return called("nvmlDeviceGetCurrentClocksThrottleReasons");
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 80ULL << 30;
  memory[1] = 78ULL << 30;
  memory[2] = 2ULL << 30;
  return called("nvmlDeviceGetMemoryInfo");
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%.2s", std::strchr(board_of(device).place, ':') + 1);
  return called("nvmlDeviceGetUUID");
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  const std::lock_guard lock(state().mutex);
  *current = *pending = state().mig ? 1 : 0;
  return 0;
}

// ---- the driver

int cuDeviceGetCount(int* count) {
  const std::lock_guard lock(state().mutex);
  *count = state().hidden ? 1 : 2;
  return state().cuda ? 0 : 3;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  const std::lock_guard lock(state().mutex);
  *flags = 0;
  *active = state().contexts[device] ? 1 : 0;
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "%s", state().boards[1 - device].place);
  return 0;
}

}  // extern "C"
