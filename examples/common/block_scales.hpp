// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

// Formats with a scale for each block of a row, emulated by tensor arithmetic: bytes and rounding are those of the
// formats, products are computed in float32 from widened elements. Tensor cores have both from sm_100 on.
namespace examples {

enum class BlockFormat {
  kMxfp8,  ///< blocks of 32 elements e4m3, with a power of two (e8m0) for scale
  kNvfp4,  ///< blocks of 16 elements e2m1, with a scale in e4m3; and a scale of the whole matrix in float32
};

std::int64_t block_of(BlockFormat format);

/// A matrix as a block format stores it.
struct BlockScaled {
  BlockFormat format;
  torch::Tensor elements;  ///< MXFP8: float8_e4m3fn, [rows, columns]; NVFP4: bytes of two elements, the first one low
  torch::Tensor scales;    ///< [rows, blocks]. MXFP8: bytes of e8m0; NVFP4: float8_e4m3fn
  torch::Tensor scale;     ///< NVFP4: float32, [1]. MXFP8: undefined

  std::int64_t bytes() const;
  BlockScaled rows(std::int64_t first, std::int64_t count) const;
};

/// Of a matrix whose rows are whole blocks. A block with NaN or infinity becomes NaN; in NVFP4 the whole matrix, for
/// all of it shares a scale.
BlockScaled quantize_blocks(const torch::Tensor& x, BlockFormat format);
torch::Tensor dequantize(const BlockScaled& x);

/// e2m1 codes, a byte each: a sign, then 0, 0.5, 1, 1.5, 2, 3, 4, 6. The nearest, ties to even; larger is 6, NaN too.
torch::Tensor to_float4(const torch::Tensor& x);
torch::Tensor from_float4(const torch::Tensor& codes);
/// Two codes a byte, the first one in the low bits, along the last dimension; and back.
torch::Tensor pack_float4(const torch::Tensor& codes);
torch::Tensor unpack_float4(const torch::Tensor& bytes);

/// The byte of the least power of two (e8m0) that is not less than x, which is not negative; 255, NaN, where x is not
/// finite.
torch::Tensor to_e8m0(const torch::Tensor& x);
torch::Tensor from_e8m0(const torch::Tensor& bytes);

}  // namespace examples
