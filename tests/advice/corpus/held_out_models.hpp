// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/training_loop.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

// Models that only the held-out half has, with the names of modules that their codebases have.
namespace rangefinder::testing::corpus {

/// Residual blocks of three convolutions, as in torchvision's ResNet; their norms are compiled.
struct BottleneckShape {
  std::int64_t images = 256, size = 56;  ///< of the first stage's features
  std::vector<std::int64_t> blocks{3, 4, 6, 3};
  Math math = Math::kBf16;
};
Model bottleneck_net(const BottleneckShape& shape);

/// One classification loss of a detector with anchors: the focal loss, as it is written in fvcore, or compiled.
std::vector<Op> focal_loss_ops(std::int64_t anchors, bool fused);

/// T5: an encoder, and a decoder that looks at it.
struct EncoderDecoderShape {
  std::int64_t layers = 4, rows = 16384, sequence = 512, width = 1024, hidden = 2816, vocabulary = 32128;
  Math decoder_math = Math::kBf16;  ///< of the feed-forward parts of the decoder
  Math hidden_math = Math::kBf16;   ///< of those of the encoder
};
Model encoder_decoder(const EncoderDecoderShape& shape);

/// Gaussians that are sorted by depth and drawn, and the loss of the image.
struct SplatShape {
  double gaussians = 3e6, pixels = 2e6;
  double instances = 4;  ///< tiles that a Gaussian is in
};
enum SplatLayer : std::size_t { kActivations, kPreprocess, kBinning, kRender, kImageLoss };
Model gaussian_splats(const SplatShape& shape);

/// A radiance field: features from a grid of hashes, and small products that one kernel does.
struct FieldShape {
  std::int64_t levels = 4;
  double samples = 4e6;
};
Model radiance_field(const FieldShape& shape);

/// nnU-Net: convolutions of volumes.
struct VolumeShape {
  std::int64_t batch = 2, size = 128, channels = 32, stages = 5;
  Math math = Math::kBf16;
};
Model volume_net(const VolumeShape& shape);

/// MACE: messages between the atoms of some molecules, by kernels of some microseconds.
struct AtomsShape {
  std::int64_t interactions = 3, atoms = 2'000, width = 128;
};
Model interatomic_potential(const AtomsShape& shape);

}  // namespace rangefinder::testing::corpus
