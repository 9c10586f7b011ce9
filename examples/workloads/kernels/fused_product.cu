// SPDX-License-Identifier: MIT
// A product by CUTLASS's tensor-core kernel, with an epilogue that the accumulators meet in registers.
#include "workloads/kernels/device_kernels.hpp"

#include <cutlass/epilogue/thread/activation.h>
#include <cutlass/epilogue/thread/linear_combination_residual_block.h>
#include <cutlass/functional.h>
#include <cutlass/gemm/device/gemm_universal_with_broadcast.h>
#include <cutlass/half.h>

namespace examples::kernels {
namespace {

template <typename Values>
struct Scaled {
  CUTLASS_HOST_DEVICE Values operator()(const Values& values) const { return values * kEpilogueScale; }
};

using Half = cutlass::half_t;
using Rows = cutlass::layout::RowMajor;
constexpr int kAlignment = 8;  // 16 bytes

// scale(relu(product + bias) + residual), of floats; what leaves the kernel is rounded once.
using Epilogue =
    cutlass::epilogue::thread::LinearCombinationResidualBlock<Half, float, float, Half, kAlignment,
                                                              cutlass::epilogue::thread::ReLu, cutlass::plus, Scaled>;
using Product = cutlass::gemm::device::GemmUniversalWithBroadcast<
    Half, Rows, Half, Rows, Half, Rows, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<128, 256, 32>, cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
    Epilogue, cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, /*Stages=*/3, kAlignment, kAlignment>;

}  // namespace

bool fused_product_built() noexcept { return true; }

const char* fused_product(const ProductArguments& arguments, ProductShape shape, void* stream) noexcept {
  const auto rows = static_cast<int>(shape.rows), columns = static_cast<int>(shape.columns),
             inner = static_cast<int>(shape.inner);
  const typename Product::Arguments described{cutlass::gemm::GemmUniversalMode::kGemm,
                                              {rows, columns, inner},
                                              /*batch_count=*/1,
                                              {/*alpha=*/1.0F, /*beta=*/1.0F},
                                              arguments.left,
                                              arguments.right,
                                              arguments.residual,
                                              arguments.out,
                                              const_cast<void*>(arguments.bias),
                                              /*ptr_Tensor=*/nullptr,
                                              std::int64_t{rows} * inner,
                                              std::int64_t{inner} * columns,
                                              std::int64_t{rows} * columns,
                                              std::int64_t{rows} * columns,
                                              columns,
                                              /*batch_stride_Tensor=*/0,
                                              inner,
                                              columns,
                                              columns,
                                              columns,
                                              /*ldr=*/0,
                                              /*ldt=*/0};
  Product product;
  cutlass::Status status = Product::can_implement(described);
  if (status == cutlass::Status::kSuccess) status = product.initialize(described);
  if (status == cutlass::Status::kSuccess) status = product.run(static_cast<cudaStream_t>(stream));
  return status == cutlass::Status::kSuccess ? nullptr : cutlass::cutlassGetStatusString(status);
}

}  // namespace examples::kernels
