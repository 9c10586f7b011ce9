// SPDX-License-Identifier: MIT
// Where there was no compiler of CUDA.
#include "workloads/kernels/device_kernels.hpp"

namespace examples::kernels {
namespace {
constexpr const char* kNotBuilt = "built without a compiler of CUDA";
}

bool device_kernels_built() noexcept { return false; }

const char* mean_strided(const float*, const float*, float*, std::int64_t, std::int64_t, void*) noexcept {
  return kNotBuilt;
}
const char* mean_in_order(const float*, const float*, float*, std::int64_t, void*) noexcept { return kNotBuilt; }
const char* epilogue_chain(const EpilogueArguments&, Shape, void*) noexcept { return kNotBuilt; }
const char* bias_gelu_residual_on_device(const float*, const float*, const float*, float*, Shape, void*) noexcept {
  return kNotBuilt;
}
const char* bias_gelu_residual_backward_on_device(const float*, const float*, const float*, float*, float*, Shape,
                                                  void*) noexcept {
  return kNotBuilt;
}
const char* paged_attention_on_device(const PagedArguments&, const PagedShape&, bool, void*) noexcept {
  return kNotBuilt;
}

}  // namespace examples::kernels
