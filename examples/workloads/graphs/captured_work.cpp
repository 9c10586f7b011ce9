// SPDX-License-Identifier: MIT
#include "workloads/graphs/captured_work.hpp"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <vector>

namespace examples {
namespace {

constexpr int kRunsBefore = 2;

/// One for all captures of a device: libraries keep workspaces for each stream that they have met, and those that they
/// make during a capture would count as the graph's.
c10::cuda::CUDAStream capture_stream() {
  static const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  return stream;
}

std::int64_t launches_of(cudaGraph_t graph) {
  std::size_t count = 0;
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::int64_t launches = 0;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    C10_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset)
      ++launches;
  }
  return launches;
}

}  // namespace

struct CapturedWork::Graph {
  at::cuda::CUDAGraph graph{/*keep_graph=*/true};  // its nodes are counted
  std::int64_t launches = 0;
};

bool graphs_built() noexcept { return true; }

GraphPool::GraphPool() : id_(at::cuda::graph_pool_handle()) {}

std::int64_t GraphPool::reserved_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot(id_, /*include_traces=*/false).segments)
    bytes += static_cast<std::int64_t>(segment.total_size);
  return bytes;
}

CapturedWork::CapturedWork(const std::function<void()>& work, const GraphPool& pool)
    : graph_(std::make_unique<Graph>()) {
  const c10::cuda::CUDAStream stream = capture_stream();
  c10::cuda::device_synchronize();  // what the work reads was made on another stream
  {
    const c10::cuda::CUDAStreamGuard on_stream(stream);
    for (int run = 0; run < kRunsBefore; ++run) work();
    stream.synchronize();
    graph_->graph.capture_begin(pool.id());
    try {
      work();
    } catch (...) {
      // A stream that goes on capturing would fail all that comes after. Its own error would hide the work's.
      try {
        graph_->graph.capture_end();
      } catch (const c10::Error&) {
      }
      throw;
    }
    graph_->graph.capture_end();
  }
  graph_->launches = launches_of(graph_->graph.raw_cuda_graph());
  graph_->graph.instantiate();
}

CapturedWork::~CapturedWork() = default;
CapturedWork::CapturedWork(CapturedWork&& other) noexcept = default;
CapturedWork& CapturedWork::operator=(CapturedWork&& other) noexcept = default;

void CapturedWork::replay() { graph_->graph.replay(); }

std::int64_t CapturedWork::launches() const { return graph_->launches; }

}  // namespace examples
