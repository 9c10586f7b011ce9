// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <utility>

namespace examples {

/// A text file as training data: one token a byte, batches cut at random places.
class ByteCorpus {
 public:
  /// Throws std::runtime_error when the file cannot be read or is shorter than a sequence.
  ByteCorpus(const std::string& path, std::int64_t sequence_length, std::uint64_t seed);

  /// Tokens [batch, sequence] and, shifted by one, what should come next.
  std::pair<torch::Tensor, torch::Tensor> batch(std::int64_t size);
  std::int64_t size() const noexcept { return tokens_.size(0); }

 private:
  torch::Tensor tokens_;
  std::int64_t sequence_length_;
  torch::Generator generator_;
};

}  // namespace examples
