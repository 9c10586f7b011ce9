// SPDX-License-Identifier: MIT
#include "cuda_program.hpp"

#include "base/library.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::testing {
namespace {

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

// By the names that the driver exports; cuda.h calls most of them by shorter ones.
// clang-format off
#define CUDA_PROGRAM_DRIVER(X)   \
  X(cuInit)                      \
  X(cuDeviceGet)                 \
  X(cuDevicePrimaryCtxRetain)    \
  X(cuCtxSetCurrent)             \
  X(cuCtxSynchronize)            \
  X(cuModuleLoadData)            \
  X(cuModuleGetFunction)         \
  X(cuStreamCreate)              \
  X(cuEventCreate)               \
  X(cuEventRecord)               \
  X(cuEventElapsedTime_v2)       \
  X(cuMemAlloc_v2)               \
  X(cuMemAllocHost_v2)           \
  X(cuMemcpyHtoDAsync_v2)        \
  X(cuMemsetD8Async)             \
  X(cuLaunchKernel)              \
  X(cuStreamBeginCapture_v2)     \
  X(cuStreamEndCapture)          \
  X(cuGraphCreate)               \
  X(cuGraphAddKernelNode_v2)     \
  X(cuGraphAddChildGraphNode)    \
  X(cuGraphClone)                \
  X(cuGraphInstantiateWithFlags) \
  X(cuGraphExecUpdate_v2)        \
  X(cuGraphLaunch)               \
  X(cuGraphDestroy)              \
  X(cuGraphExecDestroy)
// Null in drivers of before CUDA 12.3.
#define CUDA_PROGRAM_DRIVER_LATER(X) \
  X(cuGraphAddNode_v2)               \
  X(cuGraphConditionalHandleCreate)
#define CUDA_PROGRAM_RUNTIME(X) \
  X(cudaLibraryLoadData)        \
  X(cudaLibraryGetKernel)       \
  X(cudaLaunchKernel)
// clang-format on

/// Both libraries' errors are numbers, and 0 is success.
template <typename Code>
Status checked(const char* what, Code code) {
  if (static_cast<int>(code) == 0) return {};
  return Error(ErrorCode::kUnsupported, std::string(what) + " answered " + std::to_string(static_cast<int>(code)));
}

/// By name, then where CUDA is said to be, then where it was when this was built.
std::optional<base::Library> open_runtime() {
  std::vector<std::string> paths = {"libcudart.so.13", "libcudart.so.12"};
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) roots.emplace_back(root);
  }
  roots.emplace_back(CUDA_BUILD_ROOT);
  for (const std::string& root : roots) {
    for (const char* folder : {"/lib64/", "/lib/"}) paths.push_back(root + folder + "libcudart.so.13");
  }
  for (const std::string& path : paths) {
    if (Result<base::Library> found = base::Library::open(path)) return *found;
  }
  return std::nullopt;
}

}  // namespace

struct CudaProgram::Library {
#define CUDA_PROGRAM_MEMBER(name) decltype(&::name) name = nullptr;
  CUDA_PROGRAM_DRIVER(CUDA_PROGRAM_MEMBER)
  CUDA_PROGRAM_DRIVER_LATER(CUDA_PROGRAM_MEMBER)
  CUDA_PROGRAM_RUNTIME(CUDA_PROGRAM_MEMBER)
#undef CUDA_PROGRAM_MEMBER

  CUcontext context = nullptr;
  CUfunction nothing = nullptr, spin = nullptr;
  cudaKernel_t runtime_nothing = nullptr, runtime_spin = nullptr;
  CUstream streams[2] = {};
  CUevent events[2] = {};
  CUdeviceptr device_memory = 0;
  void* host_memory = nullptr;
  bool by_runtime = false;

  Status open();
  Status open_kernels_of_runtime();
};

Status CudaProgram::Library::open() {
  Result<base::Library> driver = base::Library::open("libcuda.so.1");
  if (!driver) return Error(ErrorCode::kUnsupported, "no CUDA driver on this machine");
#define CUDA_PROGRAM_FIND(name) name = driver->function<decltype(name)>(#name);
#define CUDA_PROGRAM_DEMAND(name) \
  if (name == nullptr) return Error(ErrorCode::kUnsupported, "the driver lacks " #name);
  CUDA_PROGRAM_DRIVER(CUDA_PROGRAM_FIND)
  CUDA_PROGRAM_DRIVER(CUDA_PROGRAM_DEMAND)
  CUDA_PROGRAM_DRIVER_LATER(CUDA_PROGRAM_FIND)
  CUdevice device = 0;
  CUmodule module = nullptr;
  Status status = checked("cuInit", cuInit(0));
  const auto then = [&](const char* what, auto&& call) {
    if (status.ok()) status = checked(what, call());
  };
  then("cuDeviceGet", [&] { return cuDeviceGet(&device, 0); });
  then("cuDevicePrimaryCtxRetain", [&] { return cuDevicePrimaryCtxRetain(&context, device); });
  then("cuCtxSetCurrent", [&] { return cuCtxSetCurrent(context); });
  then("cuModuleLoadData", [&] { return cuModuleLoadData(&module, kKernels); });
  then("cuModuleGetFunction", [&] { return cuModuleGetFunction(&nothing, module, "nothing"); });
  then("cuModuleGetFunction", [&] { return cuModuleGetFunction(&spin, module, "spin"); });
  for (CUstream& stream : streams)
    then("cuStreamCreate", [&] { return cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING); });
  for (CUevent& event : events) then("cuEventCreate", [&] { return cuEventCreate(&event, CU_EVENT_DEFAULT); });
  then("cuMemAlloc", [&] { return cuMemAlloc_v2(&device_memory, kBytes); });
  then("cuMemAllocHost", [&] { return cuMemAllocHost_v2(&host_memory, kBytes); });
  return status;
}

/// The runtime uses the context that is current, so streams and memory are shared with the driver's functions.
Status CudaProgram::Library::open_kernels_of_runtime() {
  const std::optional<base::Library> runtime = open_runtime();
  if (!runtime) return Error(ErrorCode::kUnsupported, "no libcudart.so.13: set CUDA_HOME");
#define CUDA_PROGRAM_FIND_RUNTIME(name) name = runtime->function<decltype(name)>(#name);
  CUDA_PROGRAM_RUNTIME(CUDA_PROGRAM_FIND_RUNTIME)
#define CUDA_PROGRAM_DEMAND_RUNTIME(name) \
  if (name == nullptr) return Error(ErrorCode::kUnsupported, runtime->path() + " lacks " #name);
  CUDA_PROGRAM_RUNTIME(CUDA_PROGRAM_DEMAND_RUNTIME)
  cudaLibrary_t library = nullptr;
  Status status =
      checked("cudaLibraryLoadData", cudaLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0));
  if (status.ok()) status = checked("cudaLibraryGetKernel", cudaLibraryGetKernel(&runtime_nothing, library, "nothing"));
  if (status.ok()) status = checked("cudaLibraryGetKernel", cudaLibraryGetKernel(&runtime_spin, library, "spin"));
  by_runtime = status.ok();
  return status;
}

Result<CudaProgram> CudaProgram::open(CudaInterface launches) {
  static auto* const kept = new std::vector<std::unique_ptr<Library>>;  // the device goes on using what they hold
  auto library = std::make_unique<Library>();
  Status status = library->open();
  if (status.ok() && launches == CudaInterface::kRuntime) status = library->open_kernels_of_runtime();
  if (!status.ok()) return std::move(status).error();
  CudaProgram program;
  program.library_ = library.get();
  kept->push_back(std::move(library));
  return program;
}

// ---- launches --------------------------------------------------------------------------------------------------

Status CudaProgram::launch(int stream, std::uint64_t ns) {
  const Library& cuda = *library_;
  void* arguments[] = {&ns};
  void** const given = ns == 0 ? nullptr : arguments;
  if (cuda.by_runtime) {
    const cudaKernel_t kernel = ns == 0 ? cuda.runtime_nothing : cuda.runtime_spin;
    return checked("cudaLaunchKernel", cuda.cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(1),
                                                             given, 0, cuda.streams[stream]));
  }
  return checked("cuLaunchKernel", cuda.cuLaunchKernel(ns == 0 ? cuda.nothing : cuda.spin, 1, 1, 1, 1, 1, 1, 0,
                                                       cuda.streams[stream], given, nullptr));
}

Status CudaProgram::copy(int stream, std::size_t bytes) {
  return checked("cuMemcpyHtoDAsync", library_->cuMemcpyHtoDAsync_v2(library_->device_memory, library_->host_memory,
                                                                     bytes, library_->streams[stream]));
}

Status CudaProgram::fill(int stream, std::size_t bytes) {
  return checked("cuMemsetD8Async",
                 library_->cuMemsetD8Async(library_->device_memory, 7, bytes, library_->streams[stream]));
}

Status CudaProgram::synchronize() { return checked("cuCtxSynchronize", library_->cuCtxSynchronize()); }

Result<std::int64_t> CudaProgram::launch_between_events(int stream, std::uint64_t ns) {
  const Library& cuda = *library_;
  Status status = checked("cuEventRecord", cuda.cuEventRecord(cuda.events[0], cuda.streams[stream]));
  if (status.ok()) status = launch(stream, ns);
  if (status.ok()) status = checked("cuEventRecord", cuda.cuEventRecord(cuda.events[1], cuda.streams[stream]));
  if (status.ok()) status = synchronize();
  float milliseconds = 0;
  if (status.ok())
    status = checked("cuEventElapsedTime", cuda.cuEventElapsedTime_v2(&milliseconds, cuda.events[0], cuda.events[1]));
  if (!status.ok()) return std::move(status).error();
  return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

// ---- graphs ----------------------------------------------------------------------------------------------------

namespace {

CUgraph of(CudaProgram::Graph graph) { return static_cast<CUgraph>(graph.handle); }
CUgraphExec of(CudaProgram::GraphExec exec) { return static_cast<CUgraphExec>(exec.handle); }

}  // namespace

Result<CudaProgram::Graph> CudaProgram::capture(const std::function<Status()>& work) {
  const CUstream stream = library_->streams[0];
  CUgraph captured = nullptr;
  Status status =
      checked("cuStreamBeginCapture", library_->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  if (!status.ok()) return std::move(status).error();
  status = work();
  const Status ended = checked("cuStreamEndCapture", library_->cuStreamEndCapture(stream, &captured));
  if (status.ok()) status = ended;
  if (!status.ok()) return std::move(status).error();
  return Graph{captured};
}

Result<CudaProgram::Graph> CudaProgram::empty_graph() {
  CUgraph graph = nullptr;
  if (Status status = checked("cuGraphCreate", library_->cuGraphCreate(&graph, 0)); !status.ok())
    return std::move(status).error();
  return Graph{graph};
}

Status CudaProgram::add_kernel(Graph to) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = library_->nothing;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  CUgraphNode node = nullptr;
  return checked("cuGraphAddKernelNode", library_->cuGraphAddKernelNode_v2(&node, of(to), nullptr, 0, &kernel));
}

Status CudaProgram::add_child(Graph to, Graph child) {
  CUgraphNode node = nullptr;
  return checked("cuGraphAddChildGraphNode", library_->cuGraphAddChildGraphNode(&node, of(to), nullptr, 0, of(child)));
}

Result<CudaProgram::Graph> CudaProgram::add_conditional(Graph to) {
  const Library& cuda = *library_;
  if (cuda.cuGraphAddNode_v2 == nullptr || cuda.cuGraphConditionalHandleCreate == nullptr)
    return Error(ErrorCode::kUnsupported, "the driver has no conditional nodes");
  CUgraphConditionalHandle condition = 0;
  Status status =
      checked("cuGraphConditionalHandleCreate",
              cuda.cuGraphConditionalHandleCreate(&condition, of(to), cuda.context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node.conditional.handle = condition;
  node.conditional.type = CU_GRAPH_COND_TYPE_IF;
  node.conditional.size = 1;
  node.conditional.ctx = cuda.context;
  CUgraphNode made = nullptr;
  if (status.ok())
    status = checked("cuGraphAddNode", cuda.cuGraphAddNode_v2(&made, of(to), nullptr, nullptr, 0, &node));
  if (!status.ok()) return std::move(status).error();
  return Graph{node.conditional.phGraph_out[0]};
}

Result<CudaProgram::Graph> CudaProgram::clone(Graph graph) {
  CUgraph made = nullptr;
  if (Status status = checked("cuGraphClone", library_->cuGraphClone(&made, of(graph))); !status.ok())
    return std::move(status).error();
  return Graph{made};
}

Result<CudaProgram::GraphExec> CudaProgram::instantiate(Graph graph) {
  CUgraphExec made = nullptr;
  Status status = checked("cuGraphInstantiate", library_->cuGraphInstantiateWithFlags(&made, of(graph), 0));
  if (!status.ok()) return std::move(status).error();
  return GraphExec{made};
}

Status CudaProgram::update(GraphExec exec, Graph graph) {
  CUgraphExecUpdateResultInfo result{};
  return checked("cuGraphExecUpdate", library_->cuGraphExecUpdate_v2(of(exec), of(graph), &result));
}

Status CudaProgram::replay(GraphExec exec) {
  return checked("cuGraphLaunch", library_->cuGraphLaunch(of(exec), library_->streams[0]));
}

Status CudaProgram::destroy(Graph graph) { return checked("cuGraphDestroy", library_->cuGraphDestroy(of(graph))); }

Status CudaProgram::destroy(GraphExec exec) {
  return checked("cuGraphExecDestroy", library_->cuGraphExecDestroy(of(exec)));
}

}  // namespace rangefinder::testing
