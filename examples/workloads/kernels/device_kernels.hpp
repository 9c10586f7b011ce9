// SPDX-License-Identifier: MIT
#pragma once

#include "workloads/kernels/bias_gelu_residual.hpp"
#include "workloads/kernels/paged_attention.hpp"

#include <cstdint>

// Kernels of our own for CUDA, free of LibTorch. Pointers are to the device's memory, a stream is a cudaStream_t. Each
// function launches and returns; what it returns is nullptr, or why nothing was launched.
namespace examples::kernels {

/// Whether this program was built with a compiler of CUDA. Without one, all of the below only say so.
bool device_kernels_built() noexcept;

/// (a + b) / 2 for a power of two of elements, at least 4: element i times the stride first, modulo the count; or in
/// order, 16 bytes at a time.
const char* mean_strided(const float* a, const float* b, float* mean, std::int64_t count, std::int64_t stride,
                         void* stream) noexcept;
const char* mean_in_order(const float* a, const float* b, float* mean, std::int64_t count, void* stream) noexcept;

/// Of half floats: x, residual and out are matrices, the others have an element a column.
struct EpilogueArguments {
  const void* x;
  const void* residual;
  const void* scale;
  const void* shift;
  const void* gate;
  void* out;
};
/// The thirteen operators of warp_specialization_training in one pass, each rounded to a half as LibTorch's are.
const char* epilogue_chain(const EpilogueArguments& arguments, Shape shape, void* stream) noexcept;

/// Of half floats, row by row: left is rows x inner, right inner x columns, bias has an element a column, residual and
/// out are rows x columns. Columns and inner are multiples of 8.
struct ProductArguments {
  const void* left;
  const void* right;
  const void* bias;
  const void* residual;
  void* out;
};
struct ProductShape {
  std::int64_t rows, columns, inner;
};
inline constexpr float kEpilogueScale = 0.125F;
/// out = (relu(left right + bias) + residual) kEpilogueScale as one kernel, where CUTLASS was there to build it with.
bool fused_product_built() noexcept;
const char* fused_product(const ProductArguments& arguments, ProductShape shape, void* stream) noexcept;

const char* bias_gelu_residual_on_device(const float* x, const float* bias, const float* residual, float* out,
                                         Shape shape, void* stream) noexcept;
/// `gradient_bias` is written, not added to. The order of its sums is fixed.
const char* bias_gelu_residual_backward_on_device(const float* gradient, const float* x, const float* bias,
                                                  float* gradient_x, float* gradient_bias, Shape shape,
                                                  void* stream) noexcept;

/// paged_attention of half floats or of floats; softmax and sums are of floats. The table is in the device's memory,
/// too.
struct PagedArguments {
  const void* query;
  const void* keys;
  const void* values;
  PageTable table;
  void* out;
};
const char* paged_attention_on_device(const PagedArguments& arguments, const PagedShape& shape, bool half,
                                      void* stream) noexcept;

}  // namespace examples::kernels
