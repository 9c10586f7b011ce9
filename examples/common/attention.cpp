// SPDX-License-Identifier: MIT
#include "common/attention.hpp"

#include <rangefinder/range.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace examples {
namespace {

using rangefinder::ProfileRange;

std::optional<torch::Tensor> mask_of(const AttentionCall& call) {
  return call.mask.defined() ? std::optional(call.mask) : std::nullopt;
}

}  // namespace

torch::Tensor explicit_attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                                 const torch::Tensor& hidden) {
  torch::Tensor scores;
  {
    const ProfileRange range("scores");
    scores = torch::matmul(query, key.transpose(-2, -1)) / std::sqrt(static_cast<double>(query.size(-1)));
  }
  if (hidden.defined()) {
    const ProfileRange range("mask");
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  }
  {
    const ProfileRange range("softmax");
    scores = torch::softmax(scores, -1);
  }
  const ProfileRange range("values");
  return torch::matmul(scores, value);
}

torch::Tensor fused_attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                              const AttentionCall& call) {
  const ProfileRange range("attention");
  return torch::scaled_dot_product_attention(query, key, value, mask_of(call), 0.0, call.causal, std::nullopt,
                                             call.grouped);
}

std::int64_t fused_backend(const std::string& size, const torch::Tensor& query, const torch::Tensor& key,
                           const torch::Tensor& value, const AttentionCall& call) {
  const std::int64_t backend =
      at::_fused_sdp_choice(query, key, value, mask_of(call), 0.0, call.causal, std::nullopt, call.grouped);
  if (backend <= 0 && size != "smoke")
    throw std::runtime_error("attention fell back to its math kernel (backend " + std::to_string(backend) +
                             "), no fused kernel takes these tensors");
  return backend;
}

torch::Tensor band(std::int64_t queries, std::int64_t keys, std::int64_t window, torch::Device device) {
  const auto all = torch::ones({queries, keys}, torch::TensorOptions(torch::kBool).device(device));
  return all.tril(keys - queries).triu(keys - queries - window);
}

}  // namespace examples
