// SPDX-License-Identifier: MIT
#include "common/kv_cache.hpp"

#include <vector>

namespace examples {

torch::Tensor KvCache::allocate(at::IntArrayRef sizes) {
  ++allocations_;
  return torch::empty(sizes, shape_.options);
}

void ConcatenatedCache::begin(std::int64_t rows) {
  rows_ = rows;
  for (std::int64_t layer = 0; layer < shape().layers; ++layer) {
    const torch::Tensor none = torch::empty({rows, shape().heads, 0, shape().width}, shape().options);
    past_.emplace_back(none, none);
  }
}

KvCache::KeysAndValues ConcatenatedCache::append(std::int64_t layer, const torch::Tensor& keys,
                                                 const torch::Tensor& values) {
  const KeysAndValues& past = past_[static_cast<std::size_t>(layer)];
  const std::int64_t tokens = past.first.size(2) + keys.size(2);
  const std::vector<std::int64_t> sizes{rows_, shape().heads, tokens, shape().width};
  KeysAndValues longer{allocate(sizes), allocate(sizes)};
  torch::cat_out(longer.first, {past.first, keys}, 2);
  torch::cat_out(longer.second, {past.second, values}, 2);
  wrote(longer.first);
  wrote(longer.second);
  present_.push_back(longer);
  return longer;
}

std::int64_t ConcatenatedCache::advance(std::int64_t /*tokens*/, std::int64_t /*live*/) {
  past_ = std::move(present_);
  present_.clear();
  return rows_;
}

void ConcatenatedCache::end() { past_.clear(); }

void PooledCache::begin(std::int64_t rows) {
  TORCH_CHECK(rows == 1, "a pooled cache has one row, not ", rows);
  tokens_ = 0;
  while (static_cast<std::int64_t>(buffers_.size()) < shape().layers) {
    const std::vector<std::int64_t> sizes{1, shape().heads, shape().longest, shape().width};
    torch::Tensor keys = allocate(sizes);
    buffers_.emplace_back(keys, allocate(sizes));
  }
}

KvCache::KeysAndValues PooledCache::append(std::int64_t layer, const torch::Tensor& keys, const torch::Tensor& values) {
  const auto& [all_keys, all_values] = buffers_[static_cast<std::size_t>(layer)];
  const std::int64_t count = keys.size(2);
  all_keys.narrow(2, tokens_, count).copy_(keys);
  all_values.narrow(2, tokens_, count).copy_(values);
  wrote(keys);
  wrote(values);
  return {all_keys.narrow(2, 0, tokens_ + count), all_values.narrow(2, 0, tokens_ + count)};
}

std::int64_t PooledCache::advance(std::int64_t tokens, std::int64_t live) {
  tokens_ += tokens;
  return live;
}

}  // namespace examples
