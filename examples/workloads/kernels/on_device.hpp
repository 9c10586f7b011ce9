// SPDX-License-Identifier: MIT
#pragma once

#include "workloads/kernels/device_kernels.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

// What a benchmark needs to launch a kernel of ours among those of LibTorch, without the toolkit's headers.
namespace examples::kernels {

/// The stream that LibTorch launches on now, on the device where the tensor is.
inline void* current_stream(const at::Tensor& tensor) {
  return c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device()).native_handle();
}

inline void check_launch(const char* error) { TORCH_CHECK(error == nullptr, "kernel of our own: ", error); }

}  // namespace examples::kernels
