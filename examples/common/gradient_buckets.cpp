// SPDX-License-Identifier: MIT
#include "common/gradient_buckets.hpp"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace examples {

GradientBuckets::GradientBuckets(ProcessGroup& group, const std::vector<torch::Tensor>& parameters,
                                 std::int64_t bucket_bytes, bool behind_backward)
    : group_(group), behind_backward_(behind_backward) {
  for (std::size_t end = parameters.size(); end > 0;) {
    std::size_t begin = end;
    std::int64_t elements = 0, bytes = 0;
    do {
      --begin;
      elements += parameters[begin].numel();
      bytes += static_cast<std::int64_t>(parameters[begin].nbytes());
    } while (begin > 0 && bytes < bucket_bytes);
    Bucket bucket;
    bucket.buffer = torch::zeros({elements}, parameters[begin].options().requires_grad(false));
    bucket.parameters = end - begin;
    std::int64_t offset = 0;
    for (std::size_t i = begin; i < end; ++i) {
      torch::Tensor parameter = parameters[i];
      parameter.mutable_grad() = bucket.buffer.narrow(0, offset, parameter.numel()).view(parameter.sizes());
      offset += parameter.numel();
      auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
      accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
          [this, index = buckets_.size()](const torch::autograd::variable_list& outputs,
                                          const torch::autograd::variable_list&) {
            gradient_came(index);
            return outputs;
          }));
      accumulators_.push_back(std::move(accumulator));
    }
    bytes_ += bytes;
    buckets_.push_back(std::move(bucket));
    end = begin;
  }
  synchronize_next(true);
}

GradientBuckets::~GradientBuckets() = default;

void GradientBuckets::zero() {
  for (Bucket& bucket : buckets_) bucket.buffer.zero_();
}

void GradientBuckets::synchronize_next(bool synchronize) {
  synchronize_ = synchronize;
  next_ = 0;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.parameters;
}

void GradientBuckets::gradient_came(std::size_t bucket) {
  --buckets_[bucket].missing;
  if (!synchronize_ || !behind_backward_) return;
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) begin_next();
}

void GradientBuckets::begin_next() {
  Bucket& bucket = buckets_[next_++];
  // The mean, not the sum: with gradients that were averaged before and to which each rank has added its own, the mean
  // keeps the former as they are.
  bucket.buffer.div_(group_.size());
  bucket.pending = group_.all_reduce(bucket.buffer);
}

void GradientBuckets::finish() {
  if (!synchronize_) return;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    TORCH_CHECK(buckets_[i].missing == 0, "bucket ", i, ": ", buckets_[i].missing, " gradients never came");
    if (next_ == i) begin_next();
    buckets_[i].pending.wait();
  }
}

}  // namespace examples
