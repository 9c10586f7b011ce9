// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

namespace examples {

/// What attention is asked to leave out, and whether its heads share keys.
struct AttentionCall {
  torch::Tensor mask{};  ///< true: may be seen; undefined: everything
  bool causal = false;
  bool grouped = false;  ///< fewer heads of keys than of queries
};

/// softmax(q k^T / sqrt(d)) v with scores that are written to memory and read again. A phase is a range.
torch::Tensor explicit_attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                                 const torch::Tensor& hidden = {});

/// The fused kernel, in a range of its own.
torch::Tensor fused_attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                              const AttentionCall& call = {});

/// Which kernel scaled_dot_product_attention takes: 0 math, 1 flash, 2 memory efficient, 3 cuDNN.
///
/// Errors: throws where it is math, which is no fused kernel at all; at size smoke it may be.
std::int64_t fused_backend(const std::string& size, const torch::Tensor& query, const torch::Tensor& key,
                           const torch::Tensor& value, const AttentionCall& call = {});

/// Which of `queries` x `keys` scores count when the last query is the last key: those at or before the query and at
/// most `window` before it.
torch::Tensor band(std::int64_t queries, std::int64_t keys, std::int64_t window, torch::Device device);

}  // namespace examples
