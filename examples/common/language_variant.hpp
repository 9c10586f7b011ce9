// SPDX-License-Identifier: MIT
#pragma once

#include "common/tensor_variant.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace examples {

/// A variant that trains a language model: tokens and first weights are given, loss, gradients and weights are what it
/// came to. Its gradients exist from the start: peak bytes above those of set-up are those of activations.
class LanguageVariant : public TensorVariant {
 public:
  /// Another token in the middle of the batch.
  void perturb() override;
  bench::Work work() override;

 protected:
  /// Draws a batch of random tokens, and what shall follow them. Call it, then `adopt`, in `make`.
  void draw_tokens(std::int64_t batch, std::int64_t length, std::int64_t vocabulary);
  /// The model of this variant, moved to the device; its weights are those that its constructor drew.
  void adopt(std::shared_ptr<torch::nn::Module> model);

  std::vector<NamedTensor> given() override;
  std::vector<NamedTensor> results() override;

  const torch::Tensor& tokens() const { return tokens_; }    ///< [batch, length]
  const torch::Tensor& targets() const { return targets_; }  ///< [batch, length]
  /// Cross entropy of logits [batch, length, vocabulary].
  static torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets);
  /// FLOPs of a step, for `work`; and the type of its products.
  virtual double step_flops() const = 0;
  virtual torch::ScalarType products_type() const { return torch::kFloat; }
  /// What `results` shows as the loss of the step.
  void set_loss(const torch::Tensor& loss) { loss_ = loss.detach(); }

 private:
  torch::Tensor tokens_, targets_, loss_;
  std::int64_t vocabulary_ = 0;
  std::shared_ptr<torch::nn::Module> model_;
};

/// What a LanguageVariant with so many parameters is given and comes to, on rows of `length` tokens. `launches`: of a
/// step.
bench::Estimate language_estimate(std::int64_t batch, std::int64_t length, double parameters, double flops,
                                  double launches);

}  // namespace examples
