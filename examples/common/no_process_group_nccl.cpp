// SPDX-License-Identifier: MIT
// Where LibTorch was built without NCCL, or headers of NCCL or CUDA are missing.
#include "common/process_group_backends.hpp"

namespace examples {

bool has_nccl() noexcept { return false; }

c10::intrusive_ptr<c10d::Backend> make_nccl(const BackendOptions&) { TORCH_CHECK(false, "this build has no NCCL"); }

}  // namespace examples
