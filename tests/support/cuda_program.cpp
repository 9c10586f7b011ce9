// SPDX-License-Identifier: MIT
#include "support/cuda_program.hpp"

#include "base/library.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rangefinder::testing {
namespace {

// What is needed of cuda.h, so that tests build where it is not.
using Result_t = int;
using Handle = void*;
using Address = unsigned long long;

constexpr char kKernels[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry spin(.param .u64 length) {
  .reg .u64 %r<5>;
  .reg .pred %p<2>;
  ld.param.u64 %r1, [length];
  mov.u64 %r2, %globaltimer;
again:
  mov.u64 %r3, %globaltimer;
  sub.u64 %r4, %r3, %r2;
  setp.lt.u64 %p1, %r4, %r1;
  @%p1 bra again;
  ret;
}
)";

}  // namespace

struct CudaProgram::Driver {
  std::optional<base::Library> library;
  Result_t (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**,
                     void**) = nullptr;
  Result_t (*copy)(Address, const void*, std::size_t, Handle) = nullptr;
  Result_t (*fill)(Address, unsigned char, std::size_t, Handle) = nullptr;
  Result_t (*synchronize)() = nullptr;
  Result_t (*event_record)(Handle, Handle) = nullptr;
  Result_t (*event_elapsed)(float*, Handle, Handle) = nullptr;
  Result_t (*begin_capture)(Handle, int mode) = nullptr;
  Result_t (*end_capture)(Handle, Handle*) = nullptr;
  Result_t (*instantiate)(Handle*, Handle, unsigned long long flags) = nullptr;
  Result_t (*graph_launch)(Handle, Handle) = nullptr;
  Handle nothing = nullptr, spin = nullptr, graph = nullptr;
  Handle streams[2] = {};
  Handle events[2] = {};
  Address device_memory = 0;
  void* host_memory = nullptr;

  Status open();
};

namespace {

Status checked(const char* what, Result_t result) {
  if (result == 0) return {};
  return Error(ErrorCode::kUnsupported, std::string(what) + " answered " + std::to_string(result));
}

}  // namespace

Status CudaProgram::Driver::open() {
  Result<base::Library> found = base::Library::open("libcuda.so.1");
  if (!found) return Error(ErrorCode::kUnsupported, "no CUDA driver on this machine");
  library.emplace(std::move(*found));
  Status status;
  const auto call = [&](const char* name, auto signature, auto... arguments) {
    if (!status.ok()) return;
    const auto function = library->function<decltype(signature)>(name);
    status = function == nullptr ? Error(ErrorCode::kUnsupported, std::string("the driver lacks ") + name)
                                 : checked(name, function(arguments...));
  };
  const auto find = [&](const char* name, auto& function) {
    function = library->function<std::decay_t<decltype(function)>>(name);
    if (status.ok() && function == nullptr)
      status = Error(ErrorCode::kUnsupported, std::string("the driver lacks ") + name);
  };
  using Out = Result_t (*)(Handle*, unsigned);
  int device = 0;
  Handle context = nullptr, module = nullptr;
  call("cuInit", static_cast<Result_t (*)(unsigned)>(nullptr), 0u);
  call("cuDeviceGet", static_cast<Result_t (*)(int*, int)>(nullptr), &device, 0);
  call("cuDevicePrimaryCtxRetain", static_cast<Result_t (*)(Handle*, int)>(nullptr), &context, device);
  call("cuCtxSetCurrent", static_cast<Result_t (*)(Handle)>(nullptr), context);
  call("cuModuleLoadData", static_cast<Result_t (*)(Handle*, const void*)>(nullptr), &module,
       static_cast<const void*>(kKernels));
  using GetFunction = Result_t (*)(Handle*, Handle, const char*);
  call("cuModuleGetFunction", static_cast<GetFunction>(nullptr), &nothing, module, "nothing");
  call("cuModuleGetFunction", static_cast<GetFunction>(nullptr), &spin, module, "spin");
  for (Handle& stream : streams) call("cuStreamCreate", static_cast<Out>(nullptr), &stream, 1u);  // non-blocking
  for (Handle& event : events) call("cuEventCreate", static_cast<Out>(nullptr), &event, 0u);
  call("cuMemAlloc_v2", static_cast<Result_t (*)(Address*, std::size_t)>(nullptr), &device_memory, kBytes);
  call("cuMemAllocHost_v2", static_cast<Result_t (*)(void**, std::size_t)>(nullptr), &host_memory, kBytes);
  find("cuLaunchKernel", launch);
  find("cuMemcpyHtoDAsync_v2", copy);
  find("cuMemsetD8Async", fill);
  find("cuCtxSynchronize", synchronize);
  find("cuEventRecord", event_record);
  find("cuEventElapsedTime", event_elapsed);
  find("cuStreamBeginCapture_v2", begin_capture);
  find("cuStreamEndCapture", end_capture);
  find("cuGraphInstantiateWithFlags", instantiate);
  find("cuGraphLaunch", graph_launch);
  return status;
}

Result<CudaProgram> CudaProgram::open() {
  static auto* const kept = new std::vector<std::unique_ptr<Driver>>;  // the device goes on using what they hold
  auto driver = std::make_unique<Driver>();
  if (Status status = driver->open(); !status.ok()) return std::move(status).error();
  CudaProgram program;
  program.driver_ = driver.get();
  kept->push_back(std::move(driver));
  return program;
}

Status CudaProgram::launch(int stream, std::uint64_t ns) {
  void* arguments[] = {&ns};
  return checked("cuLaunchKernel", driver_->launch(ns == 0 ? driver_->nothing : driver_->spin, 1, 1, 1, 1, 1, 1, 0,
                                                   driver_->streams[stream], ns == 0 ? nullptr : arguments, nullptr));
}

Status CudaProgram::copy(int stream, std::size_t bytes) {
  return checked("cuMemcpyHtoDAsync",
                 driver_->copy(driver_->device_memory, driver_->host_memory, bytes, driver_->streams[stream]));
}

Status CudaProgram::fill(int stream, std::size_t bytes) {
  return checked("cuMemsetD8Async", driver_->fill(driver_->device_memory, 7, bytes, driver_->streams[stream]));
}

Status CudaProgram::synchronize() { return checked("cuCtxSynchronize", driver_->synchronize()); }

Status CudaProgram::capture(int kernels) {
  constexpr int kThreadLocal = 1;
  Handle captured = nullptr;
  Status status = checked("cuStreamBeginCapture", driver_->begin_capture(driver_->streams[0], kThreadLocal));
  for (int i = 0; i < kernels && status.ok(); ++i) status = launch(0);
  if (status.ok()) status = checked("cuStreamEndCapture", driver_->end_capture(driver_->streams[0], &captured));
  if (status.ok()) status = checked("cuGraphInstantiate", driver_->instantiate(&driver_->graph, captured, 0));
  return status;
}

Status CudaProgram::replay() {
  return checked("cuGraphLaunch", driver_->graph_launch(driver_->graph, driver_->streams[0]));
}

Result<std::int64_t> CudaProgram::launch_between_events(int stream, std::uint64_t ns) {
  Status status = checked("cuEventRecord", driver_->event_record(driver_->events[0], driver_->streams[stream]));
  if (status.ok()) status = launch(stream, ns);
  if (status.ok())
    status = checked("cuEventRecord", driver_->event_record(driver_->events[1], driver_->streams[stream]));
  if (status.ok()) status = synchronize();
  float milliseconds = 0;
  if (status.ok())
    status =
        checked("cuEventElapsedTime", driver_->event_elapsed(&milliseconds, driver_->events[0], driver_->events[1]));
  if (!status.ok()) return std::move(status).error();
  return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace rangefinder::testing
