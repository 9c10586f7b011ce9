// SPDX-License-Identifier: MIT
//
// Pieces of the examples that a benchmark of workloads does not prove by itself: what happens at an overflow, which
// settings are left behind, what a checkpoint does without gradients.
#include "common/checkpoint.hpp"
#include "common/fused_adamw.hpp"
#include "common/mixed_precision.hpp"
#include "common/resnet.hpp"
#include "common/transformer.hpp"

#include <ATen/autocast_mode.h>

#undef CHECK  // LibTorch's, which ends the program
#include "support/catch.hpp"

#include <limits>
#include <vector>

using examples::Autocast;
using examples::GradScaler;

namespace {

torch::Tensor parameter_with_gradient(double gradient) {
  torch::Tensor parameter = torch::ones({4}, torch::TensorOptions().requires_grad(true));
  parameter.mutable_grad() = torch::full({4}, gradient);
  return parameter;
}

}  // namespace

TEST_CASE("GradScaler divides gradients and lets the update happen") {
  GradScaler scaler(torch::kCPU, 1024);
  const torch::Tensor parameter = parameter_with_gradient(2048);
  int updates = 0;
  CHECK(scaler.step({parameter}, [&] { ++updates; }));
  CHECK(updates == 1);
  CHECK(parameter.grad().equal(torch::full({4}, 2.0)));
  CHECK(scaler.factor() == 1024);
  CHECK(scaler.skipped() == 0);
  CHECK(scaler.scale(torch::full({}, 3.0)).item<float>() == 3072);
}

TEST_CASE("GradScaler leaves an update out whose gradient overflowed, and halves the factor") {
  GradScaler scaler(torch::kCPU, 1024);
  const double bad = GENERATE(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN());
  const torch::Tensor good = parameter_with_gradient(1), overflowed = parameter_with_gradient(bad);
  int updates = 0;
  CHECK_FALSE(scaler.step({good, overflowed}, [&] { ++updates; }));
  CHECK(updates == 0);
  CHECK(scaler.factor() == 512);
  CHECK(scaler.skipped() == 1);
  CHECK(scaler.step({good}, [&] { ++updates; }));
  CHECK(updates == 1);
  CHECK(scaler.factor() == 512);
}

TEST_CASE("Autocast computes in its type and leaves all settings as they were") {
  at::autocast::set_autocast_dtype(torch::kCPU, torch::kHalf);
  const torch::Tensor matrix = torch::ones({4, 4});
  {
    const Autocast outer(torch::kCPU, torch::kBFloat16);
    CHECK(torch::mm(matrix, matrix).scalar_type() == torch::kBFloat16);
    {
      const Autocast inner(torch::kCPU, torch::kHalf, /*enabled=*/false, /*cache=*/false);
      CHECK(torch::mm(matrix, matrix).scalar_type() == torch::kFloat);
      CHECK_FALSE(at::autocast::is_autocast_cache_enabled());
    }
    CHECK(at::autocast::is_autocast_cache_enabled());
    CHECK(torch::mm(matrix, matrix).scalar_type() == torch::kBFloat16);
  }
  CHECK_FALSE(at::autocast::is_autocast_enabled(torch::kCPU));
  CHECK(at::autocast::get_autocast_dtype(torch::kCPU) == torch::kHalf);
  CHECK(torch::mm(matrix, matrix).scalar_type() == torch::kFloat);
  at::autocast::set_autocast_dtype(torch::kCPU, torch::kBFloat16);
}

TEST_CASE("A checkpoint without gradients is the plain call") {
  const torch::Tensor x = torch::ones({3}, torch::TensorOptions().requires_grad(true));
  int runs = 0;
  const examples::Segment twice = [&](const torch::Tensor& in) {
    ++runs;
    return in * 2;
  };
  {
    const torch::NoGradGuard no_grad;
    CHECK_FALSE(examples::checkpoint(twice, x).requires_grad());
    CHECK(runs == 1);
  }
  examples::checkpoint(twice, x).sum().backward();
  CHECK(runs == 3);
  CHECK(x.grad().equal(torch::full({3}, 2.0)));
}

TEST_CASE("A checkpoint under autocast has the gradients of the plain call, also of a weight used outside") {
  torch::manual_seed(7);
  const torch::Tensor data = torch::randn({8, 8});
  const torch::Tensor start = torch::randn({8, 8});
  const auto gradient = [&](bool checkpointed) {
    const torch::Tensor weight = start.clone().set_requires_grad(true);
    const examples::Segment layer = [&](const torch::Tensor& in) { return torch::tanh(torch::mm(in, weight)); };
    torch::Tensor sum;
    {
      const Autocast precision(torch::kCPU, torch::kBFloat16);
      const torch::Tensor inside = checkpointed ? examples::checkpoint(layer, data) : layer(data);
      sum = layer(inside).sum();
    }
    sum.backward();
    return weight.grad();
  };
  const torch::Tensor plain = gradient(false), checkpointed = gradient(true);
  REQUIRE(plain.abs().sum().item<float>() > 0);
  // Two bfloat16 gradients add up in one sum or in two, so the last bit may differ.
  CHECK(torch::allclose(plain, checkpointed, 2e-2, 2e-2));
}

TEST_CASE("Dropout in a checkpoint draws the same numbers again, and what follows draws others") {
  const torch::Tensor x = torch::ones({1000}, torch::TensorOptions().requires_grad(true));
  const auto numbers = [&](bool checkpointed) {
    torch::manual_seed(11);
    x.mutable_grad() = torch::Tensor();
    const examples::Segment drop = [](const torch::Tensor& in) { return torch::dropout(in, 0.5, true); };
    (checkpointed ? examples::checkpoint(drop, x) : drop(x)).sum().backward();
    return std::vector<torch::Tensor>{x.grad(), torch::rand({10})};
  };
  const auto plain = numbers(false), checkpointed = numbers(true);
  CHECK(plain[0].equal(checkpointed[0]));
  CHECK(plain[1].equal(checkpointed[1]));
}

TEST_CASE("Parameters of a net are told without making it") {
  const auto count = [](const torch::nn::Module& module) {
    std::int64_t elements = 0;
    for (const torch::Tensor& parameter : module.parameters()) elements += parameter.numel();
    return elements;
  };
  const examples::TransformerOptions transformer{
      .vocabulary = 50, .width = 24, .layers = 3, .heads = 2, .sequence_length = 7};
  CHECK(examples::parameter_count(transformer) == count(*examples::Transformer(transformer)));
  const std::int64_t blocks = GENERATE(1, 2);
  const examples::ResNetOptions resnet{.classes = 7, .width = 16, .blocks = blocks};
  CHECK(examples::costs_of(resnet, 32).parameters == static_cast<double>(count(*examples::ResNet(resnet))));
}

TEST_CASE("FLOPs of a ResNet-18 for images of 32 x 32 are those of the literature") {
  CHECK(examples::costs_of({}, 32).forward_flops == Approx(2 * 0.556e9).epsilon(0.005));
}

TEST_CASE("an optimizer whose state was made beforehand takes the same steps") {
  const auto options = torch::optim::AdamWOptions(0.1);
  torch::Tensor made = torch::ones({3}).requires_grad_(), lazy = torch::ones({3}).requires_grad_();
  torch::optim::AdamW with_state({made}, options), without({lazy}, options);
  examples::make_state(with_state);
  CHECK(with_state.state().size() == 1);
  for (const double gradient : {0.5, -2.0}) {
    made.mutable_grad() = torch::full({3}, gradient);
    lazy.mutable_grad() = torch::full({3}, gradient);
    with_state.step();
    without.step();
    CHECK(torch::equal(made, lazy));
  }
}
