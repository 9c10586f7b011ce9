// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace rangefinder::testing {

/// Which of CUDA's two interfaces launches kernels. The runtime's functions call the driver's, as they do in LibTorch.
enum class CudaInterface { kDriver, kRuntime };

/// Launches real work. The driver, and the runtime where it is asked for, are opened when the program runs: no CUDA
/// library is needed to build it. One device, one context, two streams, a kernel `nothing` that does nothing, and a
/// kernel `spin` that lasts as long as it is told. Never closed.
class CudaProgram {
 public:
  /// Why there is none: no driver, no device, no runtime. The reason is fit for a skip.
  static Result<CudaProgram> open(CudaInterface launches = CudaInterface::kDriver);

  /// A kernel on stream 0 or 1: `spin`, or `nothing` for 0 ns.
  Status launch(int stream, std::uint64_t ns = 0);
  /// Host to device, from pinned memory.
  Status copy(int stream, std::size_t bytes);
  Status fill(int stream, std::size_t bytes);
  Status synchronize();
  /// The time of one kernel of that length by the device's own events, in nanoseconds.
  Result<std::int64_t> launch_between_events(int stream, std::uint64_t ns);

  /// CUDA's handles of a graph and of an executable one; whoever wants them gone destroys them.
  struct Graph {
    void* handle = nullptr;
  };
  struct GraphExec {
    void* handle = nullptr;
  };
  /// What `work` launches on stream 0, captured.
  Result<Graph> capture(const std::function<Status()>& work);
  Result<Graph> empty_graph();
  /// A kernel `nothing` by hand, without dependencies.
  Status add_kernel(Graph to);
  /// A node that is a copy of another graph.
  Status add_child(Graph to, Graph child);
  /// A conditional node whose condition always holds; the answer is its body, to be filled. kUnsupported before CUDA
  /// 12.3.
  Result<Graph> add_conditional(Graph to);
  Result<Graph> clone(Graph graph);
  Result<GraphExec> instantiate(Graph graph);
  /// Of a graph that has the same shape.
  Status update(GraphExec exec, Graph graph);
  /// On stream 0.
  Status replay(GraphExec exec);
  Status destroy(Graph graph);
  Status destroy(GraphExec exec);

  static constexpr std::size_t kBytes = std::size_t{16} << 20;  ///< most that copy and fill take

 private:
  struct Library;
  Library* library_ = nullptr;
};

}  // namespace rangefinder::testing
