// SPDX-License-Identifier: MIT
#include "common/fused_adamw.hpp"

#include <ATen/ops/_fused_adamw.h>

#include <memory>
#include <utility>

namespace examples {

FusedAdamW::FusedAdamW(std::vector<torch::Tensor> parameters, torch::optim::AdamWOptions options)
    : options_(std::move(options)), parameters_(std::move(parameters)) {
  for (const torch::Tensor& parameter : parameters_) {
    means_.push_back(torch::zeros_like(parameter));
    squares_.push_back(torch::zeros_like(parameter));
    steps_.push_back(torch::zeros({}, parameter.options().dtype(torch::kFloat).requires_grad(false)));
  }
}

void FusedAdamW::step() {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parameters, gradients, means, squares, steps;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    parameters.push_back(parameters_[i]);
    gradients.push_back(parameters_[i].grad());
    means.push_back(means_[i]);
    squares.push_back(squares_[i]);
    steps.push_back(steps_[i]);
  }
  if (parameters.empty()) return;
  at::_foreach_add_(steps, 1);  // the operator takes the number of this step, and does not count
  const auto [beta1, beta2] = options_.betas();
  at::_fused_adamw_(parameters, gradients, means, squares, /*max_exp_avg_sqs=*/{}, steps, options_.lr(), beta1, beta2,
                    options_.weight_decay(), options_.eps(), /*amsgrad=*/false, /*maximize=*/false);
}

void FusedAdamW::reset() {
  for (const auto* state : {&means_, &squares_, &steps_}) at::_foreach_zero_(*state);
}

void make_state(torch::optim::AdamW& optimizer) {
  const torch::NoGradGuard no_grad;
  for (torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    for (const torch::Tensor& parameter : group.params()) {
      auto state = std::make_unique<torch::optim::AdamWParamState>();
      state->step(0);
      state->exp_avg(torch::zeros_like(parameter));
      state->exp_avg_sq(torch::zeros_like(parameter));
      optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(state);
    }
  }
}

}  // namespace examples
