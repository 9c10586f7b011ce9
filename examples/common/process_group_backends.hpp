// SPDX-License-Identifier: MIT
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>

// Backends of c10d as this LibTorch has them. Each is made in a file of its own, which is left out where LibTorch was
// built without it: no_process_group_*.cpp are there instead.
namespace examples {

struct BackendOptions {
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0;
  int ranks = 1;
  std::chrono::milliseconds timeout{};
};

bool has_gloo() noexcept;
bool has_nccl() noexcept;

/// Errors: throw where the backend was not built, and what LibTorch throws.
c10::intrusive_ptr<c10d::Backend> make_gloo(const BackendOptions& options);
c10::intrusive_ptr<c10d::Backend> make_nccl(const BackendOptions& options);

}  // namespace examples
