// SPDX-License-Identifier: MIT
#pragma once

#include "common/process_group.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace examples {

/// Gradients of parameters in flat buffers, each of which is averaged over all ranks by one all-reduce: data parallel
/// training. Gradients are views of the buckets, so nothing is copied.
///
///   examples::GradientBuckets buckets(group, parameters, 1 << 20, /*behind_backward=*/true);
///   buckets.zero();
///   buckets.synchronize_next(true);
///   loss.backward();       // a bucket that is complete sets off while earlier layers are still computed
///   buckets.finish();      // gradients are now the mean over all ranks
///
/// Threads: those of the backward pass; `finish` on the thread that called it.
class GradientBuckets {
 public:
  /// Parameters are taken from the last to the first, as their gradients come. A bucket ends with the parameter that
  /// makes it `bucket_bytes` large: 0 is a bucket for each parameter. Without `behind_backward` the all-reduces begin
  /// in `finish`, one after the other.
  GradientBuckets(ProcessGroup& group, const std::vector<torch::Tensor>& parameters, std::int64_t bucket_bytes,
                  bool behind_backward);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  void zero();
  /// Whether the next backward pass is averaged. Without it gradients add up on each rank alone: what
  /// DistributedDataParallel calls no_sync.
  void synchronize_next(bool synchronize);
  /// Waits for the all-reduces of the backward pass; does those that were left for now.
  void finish();

  std::int64_t count() const { return static_cast<std::int64_t>(buckets_.size()); }
  /// Of all buckets.
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Bucket {
    torch::Tensor buffer;
    std::size_t parameters = 0;
    std::size_t missing = 0;  ///< parameters without a gradient in this backward pass
    Pending pending;
  };
  void gradient_came(std::size_t bucket);
  void begin_next();

  ProcessGroup& group_;
  bool behind_backward_;
  bool synchronize_ = true;
  std::int64_t bytes_ = 0;
  std::size_t next_ = 0;  ///< all ranks begin the buckets in this order, whichever is complete first
  std::vector<Bucket> buckets_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  ///< die with their hooks if nobody keeps them
};

}  // namespace examples
