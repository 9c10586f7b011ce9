// SPDX-License-Identifier: MIT
// Batches that are copied and computed with: in turns, and with the next batch's copy beside this one's computation,
// through two buffers. On a device a stream of its own copies, on a CPU a thread: the same two states of a buffer. What
// pinned memory brings to copies in turns is a benchmark of its own.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <array>
#include <deque>
#include <exception>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

namespace workloads::streams_double_buffer {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kBuffers = 2;
enum class Way { kPageable, kInTurns, kOverlapped };  // both of the latter from pinned memory

struct Sizes {
  std::int64_t batches, batch, width;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {4, 8, 64}, {16, 512, 512}, {8, 4096, 2048});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double batches = examples::elements({sizes.batches, sizes.batch, sizes.width});
  bench::Estimate out =
      examples::estimate_of_elements(batches + examples::elements({sizes.width, sizes.width}), batches,
                                     examples::kFloatBytes, 2 * batches * static_cast<double>(sizes.width));
  out.bytes = examples::kFloatBytes * batches;
  out.launches = 3 * static_cast<double>(sizes.batches);
  return out;
}

class Pipeline : public examples::TensorVariant {
 public:
  explicit Pipeline(Way way) : pinned_(way != Way::kPageable), overlapped_(way == Way::kOverlapped) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    if (!overlapped_) {
      for (std::int64_t i = 0; i < host_.size(0); ++i) {
        copy(i);
        compute(i);
      }
    } else if (device().is_cuda()) {
      through_streams();
    } else {
      through_threads();
    }
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(host_.size(0) * host_.size(1));
    work.bytes = 4.0 * static_cast<double>(host_.numel());
    return work;
  }

 private:
  void make() override {
    const Sizes sizes = sizes_of(size());
    host_ = torch::randn({sizes.batches, sizes.batch, sizes.width});
    if (pinned_ && device().is_cuda()) host_ = host_.pin_memory();  // a copy from elsewhere waits for the host
    weights_ = (torch::randn({sizes.width, sizes.width}) / static_cast<double>(sizes.width)).to(device());
    out_ = torch::zeros({sizes.batches, sizes.batch, sizes.width}, device());
    for (auto& buffer : buffers_) buffer = torch::empty({sizes.batch, sizes.width}, device());
  }
  std::vector<NamedTensor> given() override { return {{"batches", host_}, {"weights", weights_}}; }
  std::vector<NamedTensor> results() override { return {{"out", out_}}; }

  torch::Tensor& buffer(std::int64_t batch) { return buffers_[static_cast<std::size_t>(batch % kBuffers)]; }
  void copy(std::int64_t batch) {
    const ProfileRange range("copy");
    buffer(batch).copy_(host_[batch], /*non_blocking=*/overlapped_);
  }
  void compute(std::int64_t batch) {
    const ProfileRange range("compute");
    torch::Tensor out = out_[batch];
    at::matmul_out(out, buffer(batch), weights_);
    out.tanh_();
  }

  /// A semaphore for each state of a buffer: the copier takes an empty one, the computer a full one.
  void through_threads() {
    std::counting_semaphore<kBuffers> empty(kBuffers), full(0);
    std::exception_ptr failed;
    std::thread copier([&] {
      const torch::NoGradGuard no_grad;
      for (std::int64_t i = 0; i < host_.size(0); ++i) {
        empty.acquire();
        try {
          if (failed == nullptr) copy(i);
        } catch (...) {
          failed = std::current_exception();
        }
        full.release();
      }
    });
    std::exception_ptr failed_here;
    for (std::int64_t i = 0; i < host_.size(0); ++i) {
      full.acquire();
      try {
        if (failed_here == nullptr) compute(i);
      } catch (...) {
        failed_here = std::current_exception();  // the copier goes on to its end: it is waited for
      }
      empty.release();
    }
    copier.join();
    if (failed != nullptr) std::rethrow_exception(failed);
    if (failed_here != nullptr) std::rethrow_exception(failed_here);
  }

  /// An event for each state of a buffer. Buffers outlive the step, so no allocator needs to know who still reads them.
  void through_streams() {
    const c10::impl::VirtualGuardImpl streams(c10::kCUDA);
    const c10::Device gpu(c10::kCUDA, streams.getDevice().index());
    const c10::Stream here = streams.getStream(gpu);
    const c10::Stream copies = streams.getStreamFromGlobalPool(gpu);
    std::deque<c10::Event> full, empty;
    for (std::int64_t i = 0; i < kBuffers; ++i) {
      full.emplace_back(c10::kCUDA);
      empty.emplace_back(c10::kCUDA);
      empty.back().record(here);  // what earlier steps compute from the buffer comes first
    }
    for (std::int64_t i = 0; i < host_.size(0); ++i) {
      const auto at = static_cast<std::size_t>(i % kBuffers);
      {
        const c10::StreamGuard on_copies(copies);
        empty[at].block(copies);
        copy(i);
        full[at].record(copies);
      }
      full[at].block(here);
      compute(i);
      empty[at].record(here);
    }
  }

  bool pinned_, overlapped_;
  torch::Tensor host_, weights_, out_;
  std::array<torch::Tensor, kBuffers> buffers_;
};

bench::Benchmark pipelines(Way baseline, Way optimized) {
  bench::Benchmark benchmark;
  benchmark.estimate = estimate;
  benchmark.goal = bench::Goal::kThroughput;
  benchmark.baseline = {[baseline] { return std::make_unique<Pipeline>(baseline); }, {}, {1e-5, 1e-6}};
  benchmark.optimized = {[optimized] { return std::make_unique<Pipeline>(optimized); }, {}, {1e-5, 1e-6}};
  benchmark.informational = true;  // a CPU gains what its second core is worth at that moment
  return benchmark;
}

bench::Benchmark streams_double_buffer() {
  bench::Benchmark benchmark = pipelines(Way::kInTurns, Way::kOverlapped);
  benchmark.name = "streams_double_buffer";
  benchmark.purpose = "copy and compute in turns, the next copy beside the computation";
  benchmark.devices = {"cpu", "cuda"};
  return benchmark;
}

bench::Benchmark streams_double_buffer_pinned() {
  bench::Benchmark benchmark = pipelines(Way::kPageable, Way::kInTurns);
  benchmark.name = "streams_double_buffer_pinned";
  benchmark.purpose = "copy and compute in turns, from pageable memory, from pinned";
  benchmark.devices = {"cuda"};
  benchmark.estimate = [](const bench::Setup& setup) {
    bench::Estimate out = estimate(setup);
    out.step_waiting_s = out.bytes / examples::kPageableBytes_per_s;
    return out;
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(streams_double_buffer()) && bench::add_benchmark(streams_double_buffer_pinned());

}  // namespace workloads::streams_double_buffer
