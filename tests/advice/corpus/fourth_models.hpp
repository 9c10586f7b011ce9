// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/training_loop.hpp"

#include <cstdint>
#include <vector>

// Models that only the fourth part has, with the names of modules that their codebases have.
namespace rangefinder::testing::corpus {

/// Speech: two feed-forward parts around attention and a convolution along time.
struct ConformerShape {
  std::int64_t layers = 8, rows = 32768, frames = 1024, width = 768;
  Math feed_forward = Math::kBf16;
};
Model conformer(const ConformerShape& shape);

/// Images by diffusion: transformer blocks whose norms are scaled and shifted by what the time step says. `fused`: by
/// torch.compile.
struct DiffusionShape {
  std::int64_t blocks = 12, images = 128, patches = 256, width = 768;
  bool fused = true;
  Math condition_math = Math::kBf16;  ///< of the product that makes scales and shifts
};
Model diffusion_transformer(const DiffusionShape& shape);

/// Texts by state-space layers: a short convolution, and a scan by five kernels.
struct StateSpaceShape {
  std::int64_t layers = 8, rows = 16384, width = 2048, vocabulary = 32000;
  Math head_math = Math::kBf16;
};
Model state_space(const StateSpaceShape& shape);

/// Proteins: all pairs of residues, which are multiplied along triangles.
struct FoldingShape {
  std::int64_t blocks = 6, residues = 384, width = 128;
  Math transition = Math::kBf16;
};
Model pair_former(const FoldingShape& shape);

/// Point clouds: convolutions at the voxels that have points.
struct VoxelShape {
  std::int64_t layers = 14, voxels = 400'000, channels = 64;
};
Model voxel_net(const VoxelShape& shape);

/// An optimizer that is written out in operators, or that the compiler has fused: for so many groups of float
/// parameters, of so many each.
std::vector<Op> lion_ops(std::int64_t groups, std::int64_t parameters, bool fused);

}  // namespace rangefinder::testing::corpus
