// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>

#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

// CUDA graphs without CUDA's headers: a program that was built without a toolkit has the same functions, which only say
// so.
namespace examples {

/// Whether graphs can be captured where there is a device.
bool graphs_built() noexcept;
/// For Benchmark::skip: "feature_not_built" on a device where they cannot.
inline std::string skip_without_graphs(const rangefinder::bench::Setup& setup) {
  return setup.device == "cuda" && !graphs_built() ? "feature_not_built" : "";
}

/// Memory for what graphs make on their way. Graphs of one pool take the same bytes, one after the other: they must not
/// run at the same time, and what shall outlive the next replay has to lie outside, made before the capture.
class GraphPool {
 public:
  GraphPool();
  c10::MempoolId_t id() const noexcept { return id_; }
  /// What the allocator holds for it; 0 when no graph of it lives.
  std::int64_t reserved_bytes() const;

 private:
  c10::MempoolId_t id_;
};

/// Work on a CUDA device, recorded once and launched as a whole. The work reads and writes the same addresses each
/// time: new inputs are copied to where the old ones are.
///
///   GraphPool pool;
///   CapturedWork step([&] { torch::mm_out(out, in, weights); }, pool);
///   in.copy_(batch);
///   step.replay();
///
/// The constructor runs the work twice before it records it, for all that is made at a first call and cannot be
/// captured: what the work changes in place has to be set back, in place. Replays are launched on the current stream.
///
/// Errors:  c10::Error, also of work that cannot be captured (that waits for the device, say).
/// Threads: one, and no other may call CUDA during the capture.
class CapturedWork {
 public:
  CapturedWork(const std::function<void()>& work, const GraphPool& pool);
  ~CapturedWork();
  CapturedWork(CapturedWork&& other) noexcept;
  CapturedWork& operator=(CapturedWork&& other) noexcept;
  void replay();
  /// Kernels, copies and fills of one replay: what the host would launch one by one.
  std::int64_t launches() const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace examples
