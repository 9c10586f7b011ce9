// SPDX-License-Identifier: MIT
#include "common/byte_corpus.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace examples {

ByteCorpus::ByteCorpus(const std::string& path, std::int64_t sequence_length, std::uint64_t seed)
    : sequence_length_(sequence_length), generator_(at::detail::createCPUGenerator(seed)) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (static_cast<std::int64_t>(text.size()) <= sequence_length + 1)
    throw std::runtime_error(path + ": " + std::to_string(text.size()) + " bytes, too short for sequences of " +
                             std::to_string(sequence_length));
  tokens_ = torch::empty({static_cast<std::int64_t>(text.size())}, torch::kInt64);
  auto* out = tokens_.data_ptr<std::int64_t>();
  for (const char c : text) *out++ = static_cast<unsigned char>(c);
}

std::pair<torch::Tensor, torch::Tensor> ByteCorpus::batch(std::int64_t size) {
  const torch::Tensor starts =
      torch::randint(tokens_.size(0) - sequence_length_ - 1, {size, 1}, generator_, torch::kInt64);
  const torch::Tensor at = starts + torch::arange(sequence_length_);
  return {tokens_.index({at}), tokens_.index({at + 1})};
}

}  // namespace examples
