// SPDX-License-Identifier: MIT
#include "source/torch/device_allocator.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#if RANGEFINDER_TORCH_CUDA
#include "source/torch/device_statistics.hpp"
#include "source/torch/trace_entries.hpp"

#include <rangefinder/range.hpp>

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/cuda/memory_snapshot.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#endif

namespace rangefinder::torch {
namespace {

#if RANGEFINDER_TORCH_CUDA
namespace allocator = c10::cuda::CUDACachingAllocator;

// Trackers and observers cannot be taken off again: they are added once, and listen while somebody records.
struct State {
  std::mutex mutex;
  bool tracked = false;
  bool observed = false;
  std::atomic<std::uint32_t> users{0};
  DeviceTotals totals;
  std::string snapshot_path;  // under mutex
};
State& state() noexcept {
  static State* const the_state = new State;  // allocators may call later than static destructors run
  return *the_state;
}

void on_trace(const c10::CachingDeviceAllocator::TraceEntry& entry) noexcept {
  State& now = state();
  if (now.users.load(std::memory_order_relaxed) == 0) return;
  std::optional<detail::MemoryEvent> event = event_of(entry);
  if (!event) return;
  now.totals.count(*event);
  detail::memory_event(*event);
}

/// The allocator has let go of its locks by then.
void on_out_of_memory(std::int64_t, std::size_t, std::size_t, std::size_t) noexcept {
  std::string path;
  {
    const std::lock_guard lock(state().mutex);
    path = state().snapshot_path;
  }
  // The program is about to hear that there is no memory; that there is no snapshot either is seen from the file.
  if (!path.empty()) (void)memory_snapshot(path);
}

void set_totals(State& now) {
  for (c10::DeviceIndex device{0}; device < c10::cuda::device_count(); ++device) {
    const c10::CachingDeviceAllocator::DeviceStats stats = allocator::getDeviceStats(device);
    constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    now.totals.set(device, stats.requested_bytes[kAll].current, stats.reserved_bytes[kAll].current);
  }
}

std::string start(State& now, const MemoryRecordingOptions& options) {
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);  // before, the allocator has no devices to listen to
  if (!now.tracked) allocator::attachAllocatorTraceTracker(on_trace);
  now.tracked = true;
  if (!options.snapshot_when_out_of_memory.empty()) {
    if (!now.observed) allocator::attachOutOfMemoryObserver(on_out_of_memory);
    now.observed = true;
    now.snapshot_path = options.snapshot_when_out_of_memory;
  }
  if (options.history_events != 0) {
    ::torch::cuda::_record_memory_history(true, true, static_cast<std::int64_t>(options.history_events), true, true);
  }
  if (now.users.load() == 0) set_totals(now);
  now.users.fetch_add(1);
  return {};
}
#endif

Status write_file(const std::string& path, const std::string& bytes) {
  const auto failed = [&](const std::string& what) {
    return Error(ErrorCode::kIo, "memory snapshot " + what + ": " + std::strerror(errno));
  };
  // Beside it first: a file of that name is whole. For its user alone, as captures are.
  std::string part = path + ".XXXXXX";
  const int fd = ::mkostemp(part.data(), O_CLOEXEC);
  if (fd < 0) return failed(path);
  std::FILE* const file = ::fdopen(fd, "wb");
  if (file == nullptr) {
    Error error = failed(path);
    ::close(fd);
    std::remove(part.c_str());
    return error;
  }
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !written || std::rename(part.c_str(), path.c_str()) != 0) {
    Error error = failed(path);
    std::remove(part.c_str());
    return error;
  }
  return {};
}

/// Empty, or why there are no devices.
std::string no_devices() {
#if RANGEFINDER_TORCH_CUDA
  return at::globalContext().hasCUDA() ? "" : "there is no CUDA device";
#else
  return "LibTorch was built without CUDA";
#endif
}

}  // namespace

std::string start_devices(const MemoryRecordingOptions& options) {
  std::string reason = no_devices();
#if RANGEFINDER_TORCH_CUDA
  if (!reason.empty()) return reason;
  State& now = state();
  const std::lock_guard lock(now.mutex);
  try {
    return start(now, options);
  } catch (const std::exception& error) {  // an allocator that is not the caching one
    return std::string("LibTorch refused: ") + error.what();
  }
#else
  (void)options;
#endif
  return reason;
}

void stop_devices(const MemoryRecordingOptions& options) noexcept {
#if RANGEFINDER_TORCH_CUDA
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (now.users.fetch_sub(1) != 1) return;
  now.snapshot_path.clear();
  try {
    if (options.history_events != 0) ::torch::cuda::_record_memory_history(false);
  } catch (const std::exception&) {
    return;  // it goes on, as it would without us
  }
#else
  (void)options;
#endif
}

void count_devices() {
#if RANGEFINDER_TORCH_CUDA
  for (c10::DeviceIndex device{0}; device < c10::cuda::device_count(); ++device) {
    for_each_statistic(allocator::getDeviceStats(device), [&](const char* what, auto value) {
      char name[64];  // no allocation: steps of a job that is out of memory are counted, too
      std::snprintf(name, sizeof name, "cuda:%d %s", static_cast<int>(device), what);
      counter(name, value);
    });
  }
#endif
}

Status count_device_memory() {
  if (const std::string reason = no_devices(); !reason.empty())
    return Error(ErrorCode::kUnsupported, "memory of devices: " + reason);
#if RANGEFINDER_TORCH_CUDA
  if (detail::active.load(std::memory_order_relaxed) == 0) return {};
  try {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    count_devices();
  } catch (const std::exception& error) {
    return Error(ErrorCode::kUnsupported, std::string("memory of devices: LibTorch refused: ") + error.what());
  }
#endif
  return {};
}

Status memory_snapshot(const std::string& path) {
  if (const std::string reason = no_devices(); !reason.empty())
    return Error(ErrorCode::kUnsupported,
                 "memory snapshot " + path + ": " + reason + "; a snapshot shows the caching allocator of devices");
  std::string pickled;
#if RANGEFINDER_TORCH_CUDA
  try {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    pickled = ::torch::cuda::_memory_snapshot_pickled();
  } catch (const std::exception& error) {
    return Error(ErrorCode::kUnsupported, "memory snapshot " + path + ": LibTorch refused: " + error.what());
  }
#endif
  return write_file(path, pickled);
}

}  // namespace rangefinder::torch
