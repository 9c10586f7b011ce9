// SPDX-License-Identifier: MIT
#define USE_C10D_NCCL

#include "common/process_group_backends.hpp"

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace examples {

bool has_nccl() noexcept { return true; }

c10::intrusive_ptr<c10d::Backend> make_nccl(const BackendOptions& options) {
  auto nccl = c10d::ProcessGroupNCCL::Options::create();
  nccl->timeout = options.timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(options.store, options.rank, options.ranks, nccl);
}

}  // namespace examples
