// SPDX-License-Identifier: MIT
#include "workloads/kernels/bias_gelu_residual_operator.hpp"

#include <functional>
#include <string>
#include <vector>

#undef CHECK  // LibTorch's
#include "support/catch.hpp"

using examples::kernels::bias_gelu_residual;
using torch::Tensor;

namespace {

struct Inputs {
  Tensor x, bias, residual;
  std::vector<Tensor> all() const { return {x, bias, residual}; }
};

Inputs random_inputs(torch::ScalarType type, double scale = 1) {
  torch::manual_seed(42);
  const auto random = [&](torch::IntArrayRef shape) {
    return (torch::randn(shape, torch::kDouble) * scale).to(type).requires_grad_();
  };
  return {random({5, 7}), random({7}), random({5, 7})};
}

/// By central differences: how `loss` changes with each element of an input.
Tensor slopes(const Tensor& input, const std::function<Tensor()>& loss) {
  const torch::NoGradGuard no_grad;
  constexpr double kStep = 1e-6;
  Tensor out = torch::zeros_like(input);
  const Tensor values = input.view({-1}), found = out.view({-1});
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const double before = values[i].item<double>();
    values[i].fill_(before + kStep);
    const double above = loss().item<double>();
    values[i].fill_(before - kStep);
    const double below = loss().item<double>();
    values[i].fill_(before);
    found[i].fill_((above - below) / (2 * kStep));
  }
  return out;
}

}  // namespace

TEST_CASE("the operator's gradients are the slopes of its results, in double precision", "[examples]") {
  const double scale = GENERATE(0.1, 1.0, 4.0);  // near zero, where it bends, and where it is straight
  const Inputs in = random_inputs(torch::kDouble, scale);
  // Random weights of the results: each column of the Jacobian counts on its own.
  const Tensor weights = torch::randn({5, 7}, torch::kDouble);
  const auto loss = [&] { return (bias_gelu_residual(in.x, in.bias, in.residual) * weights).sum(); };
  loss().backward();
  for (const Tensor& input : in.all()) CHECK(torch::allclose(input.grad(), slopes(input, loss), 1e-6, 1e-8));
}

TEST_CASE("the operator of doubles is LibTorch's formula, and that of floats is near it", "[examples]") {
  const Inputs exact = random_inputs(torch::kDouble, 2);
  const Tensor weights = torch::randn({5, 7}, torch::kDouble);
  const Tensor plain = torch::gelu(exact.x + exact.bias) + exact.residual;
  const Tensor ours = bias_gelu_residual(exact.x, exact.bias, exact.residual);
  CHECK(torch::allclose(ours, plain, 1e-14, 1e-14));
  (ours * weights).sum().backward();

  const Inputs rounded = random_inputs(torch::kFloat, 2);
  const Tensor in_float = bias_gelu_residual(rounded.x, rounded.bias, rounded.residual);
  CHECK(torch::allclose(in_float.to(torch::kDouble), ours, 1e-5, 2e-6));
  (in_float * weights.to(torch::kFloat)).sum().backward();
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(torch::allclose(rounded.all()[i].grad().to(torch::kDouble), exact.all()[i].grad(), 1e-5, 1e-5));
}

TEST_CASE("the operator refuses what it has no kernel for", "[examples]") {
  const Inputs in = random_inputs(torch::kFloat);
  CHECK_THROWS_AS(bias_gelu_residual(in.x.detach().t(), in.bias, in.residual), c10::Error);
  CHECK_THROWS_AS(bias_gelu_residual(in.x.detach().to(torch::kHalf), in.bias, in.residual), c10::Error);
  CHECK_THROWS_AS(bias_gelu_residual(in.x.detach().to(torch::kDouble), in.bias, in.residual), c10::Error);
}
