// SPDX-License-Identifier: MIT
// For a build without a CUDA toolkit, or with a LibTorch that has no CUDA: benchmarks that need graphs are skipped.
#include "workloads/graphs/captured_work.hpp"

#include <c10/util/Exception.h>

namespace examples {

struct CapturedWork::Graph {};

bool graphs_built() noexcept { return false; }

GraphPool::GraphPool() : id_(0, 0) {}
std::int64_t GraphPool::reserved_bytes() const { return 0; }

CapturedWork::CapturedWork(const std::function<void()>&, const GraphPool&) {
  TORCH_CHECK(false, "graphs were not built: a CUDA toolkit and a LibTorch with CUDA are needed");
}
CapturedWork::~CapturedWork() = default;
CapturedWork::CapturedWork(CapturedWork&& other) noexcept = default;
CapturedWork& CapturedWork::operator=(CapturedWork&& other) noexcept = default;
void CapturedWork::replay() {}
std::int64_t CapturedWork::launches() const { return 0; }

}  // namespace examples
