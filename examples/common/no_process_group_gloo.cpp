// SPDX-License-Identifier: MIT
// Where LibTorch was built without Gloo.
#include "common/process_group_backends.hpp"

namespace examples {

bool has_gloo() noexcept { return false; }

c10::intrusive_ptr<c10d::Backend> make_gloo(const BackendOptions&) { TORCH_CHECK(false, "this LibTorch has no Gloo"); }

}  // namespace examples
