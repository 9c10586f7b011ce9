// SPDX-License-Identifier: MIT
#pragma once

#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <cstdint>
#include <vector>

namespace examples {

struct FixedDecoderOptions {
  std::int64_t vocabulary, width, layers, heads;
  std::int64_t length;     ///< tokens of a sequence
  std::int64_t sequences;  ///< at most at once
};

/// Decodes sequences of known tokens, one token a step. Everything is in its place from the start, the position too is
/// a number on the device that a step reads and counts up: the host need not know it, so a step can be captured and
/// replayed. A step is in ranges: `embed`, one a layer (`layer.0`, ...), `head`.
class FixedDecoder {
 public:
  FixedDecoder(const FixedDecoderOptions& options, torch::Device device);
  /// Begins all sequences again.
  void restart() { position_.zero_(); }
  /// The next token of the first `sequences`.
  void step(std::int64_t sequences);
  /// Forgets what was computed; the next step is the first.
  void clear();

  const torch::Tensor& tokens() const { return tokens_; }  ///< [length, sequences]
  const torch::Tensor& logits() const { return logits_; }  ///< [length, sequences, vocabulary], 0 where no step was
  std::vector<NamedTensor> weights() const;

 private:
  struct Layer {
    rangefinder::RangeName name;
    torch::Tensor norm1, norm2;  // weights of the norms, which have no bias
    torch::Tensor qkv, out, up, down;
    torch::Tensor keys, values;  // [sequences, heads, length, width of a head]
  };
  torch::Tensor attention(const Layer& layer, const torch::Tensor& x, const torch::Tensor& mask) const;

  FixedDecoderOptions options_;
  torch::Tensor tokens_, logits_, position_, slots_, embedding_, places_, head_;
  std::vector<Layer> layers_;
};

}  // namespace examples
