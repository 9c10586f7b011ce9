// SPDX-License-Identifier: MIT
#pragma once

#include "libtorch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// A training step that has something of everything: the same operators whenever it runs, each time on new threads,
// whose numbers of autograd begin anew.
namespace rangefinder::testing {

/// y = x * x, by a function of its own.
struct Square : ::torch::autograd::Function<Square> {
  static at::Tensor forward(::torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return x * x;
  }
  static ::torch::autograd::variable_list backward(::torch::autograd::AutogradContext* context,
                                                   ::torch::autograd::variable_list gradients) {
    return {2 * context->get_saved_variables()[0] * gradients[0]};
  }
};

/// Threads of a run of the program, by what LibTorch and the system call them.
struct ThreadNames {
  std::map<std::uint64_t, std::string> of_torch{{0, ""}};
  std::map<std::int64_t, std::string> of_system;
};

inline at::Tensor weight(at::IntArrayRef sizes) { return at::ones(sizes).mul_(0.1).requires_grad_(true); }

inline void convolution_step() {
  const at::Tensor image = at::ones({2, 3, 8, 8});
  const at::Tensor kernel = weight({4, 3, 3, 3}), bias = weight({4});
  at::Tensor x = at::conv2d(image, kernel, bias, at::IntArrayRef{1, 1}, at::IntArrayRef{1, 1});
  x = at::batch_norm(x, weight({4}), weight({4}), at::zeros({4}), at::ones({4}), true, 0.1, 1e-5, false);
  x = at::max_pool2d(x.relu(), {2, 2});
  RECORD_USER_SCOPE("classify");
  x = at::linear(x.flatten(1), weight({10, 64}), weight({10}));
  ::torch::autograd::backward({at::cross_entropy_loss(x, at::zeros({2}, at::kLong))}, {});
}

inline void attention_step() {
  const at::Tensor tokens = at::embedding(weight({16, 8}), at::zeros({2, 6}, at::kLong));
  const at::Tensor query = tokens.matmul(weight({8, 8})), key = tokens.matmul(weight({8, 8}));
  const at::Tensor heads =
      at::scaled_dot_product_attention(query.view({2, 6, 2, 4}).transpose(1, 2), key.view({2, 6, 2, 4}).transpose(1, 2),
                                       tokens.view({2, 6, 2, 4}).transpose(1, 2));
  at::Tensor x = heads.transpose(1, 2).reshape({2, 6, 8}) + tokens;
  x = at::layer_norm(x, {8}, weight({8}), weight({8}), 1e-5);
  x = Square::apply(x);
  ::torch::autograd::backward({x.mean(), x.softmax(-1).sum()}, {});
}

/// Inputs of every kind: lists of tensors, short and long; numbers, whole and not; nothing at all.
inline void odd_inputs() {
  const at::Tensor x = at::arange(12.0).view({3, 4});
  at::Tensor y = x.slice(0, 0, 2).clone();
  y.add_(1).mul_(-0.5).clamp_(std::nullopt, 1e30);
  (void)y.add(y, 1e10)
      .add(-0.0)
      .sub(1e17)
      .mul(std::numeric_limits<double>::infinity())
      .mul(1e-310)
      .add(2.5e-7)
      .pow(3)
      .eq(c10::complex<double>(1, -2));
  (void)at::cat({x, y}, 0);
  (void)at::stack(std::vector<at::Tensor>(31, y));
  (void)at::stack(std::vector<at::Tensor>(30, y));
  (void)x.index({at::zeros({2}, at::kLong)});
  (void)x.to(at::kHalf).to(at::kBFloat16).to(at::kInt).to(at::kBool);
  (void)at::zeros(std::vector<std::int64_t>(31, 1));
  (void)at::zeros({}).item();
  (void)x.sum(at::IntArrayRef{0, 1}, true);
  (void)at::where(x > 3, x, -0.0);
  (void)at::upsample_nearest2d(x.view({1, 1, 3, 4}), at::IntArrayRef{6, 8});
  (void)x.to_sparse().to_dense();
}

/// `around` is called on each thread, with what it shall do.
inline ThreadNames run_program(const std::function<void(const std::function<void()>&)>& around) {
  ThreadNames names;
  std::mutex mutex;
  std::vector<std::thread> threads;
  const auto run = [&](const std::string& name, void (*step)()) {
    threads.emplace_back([&, name, step] {
      {
        const std::lock_guard lock(mutex);
        names.of_torch[at::RecordFunction::currentThreadId()] = name;
        names.of_system[::syscall(SYS_gettid)] = name;
      }
      around([&] {
        RECORD_USER_SCOPE(name);
        for (int i = 0; i < 3; ++i) step();
      });
    });
  };
  run("convolution", convolution_step);
  run("attention", attention_step);
  run("inputs", odd_inputs);
  for (std::thread& thread : threads) thread.join();
  return names;
}

}  // namespace rangefinder::testing
