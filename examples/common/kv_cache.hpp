// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace examples {

/// A batch of sequences: rows of keys and values, [rows, heads, tokens, width].
struct CacheShape {
  std::int64_t layers = 2, heads = 0, width = 0;
  std::int64_t longest = 0;      ///< tokens of the longest sequence
  std::int64_t live_tokens = 0;  ///< of all sequences that live at once, at most, in whole pages
  std::int64_t page = 0;         ///< tokens
  torch::TensorOptions options{};
};

/// Where keys and values of past tokens are kept. One thread.
class KvCache {
 public:
  using KeysAndValues = std::pair<torch::Tensor, torch::Tensor>;

  explicit KvCache(const CacheShape& shape) : shape_(shape) {}
  virtual ~KvCache() = default;
  /// Sequences begin, `rows` of them at once.
  virtual void begin(std::int64_t rows) = 0;
  /// Adds tokens of a layer, the same number to each row, and returns all that this layer has.
  virtual KeysAndValues append(std::int64_t layer, const torch::Tensor& keys, const torch::Tensor& values) = 0;
  /// All layers have seen the tokens; the first `live` rows go on. Returns how many rows are computed from now on.
  virtual std::int64_t advance(std::int64_t tokens, std::int64_t live) = 0;
  /// The sequences are done.
  virtual void end() = 0;

  /// Buffers that were made, and bytes that were written into any, since the last reset.
  std::int64_t allocations() const { return allocations_; }
  std::int64_t bytes_written() const { return bytes_written_; }
  void reset_counts() { allocations_ = bytes_written_ = 0; }

 protected:
  torch::Tensor allocate(at::IntArrayRef sizes);
  void wrote(const torch::Tensor& tensor) { bytes_written_ += static_cast<std::int64_t>(tensor.nbytes()); }
  const CacheShape& shape() const { return shape_; }

 private:
  CacheShape shape_;
  std::int64_t allocations_ = 0, bytes_written_ = 0;
};

/// Each token makes a new cache, a token longer, of every layer; the old one lives until the new one is whole. Rows of
/// a batch stay until its longest sequence is done.
class ConcatenatedCache : public KvCache {
 public:
  using KvCache::KvCache;
  void begin(std::int64_t rows) override;
  KeysAndValues append(std::int64_t layer, const torch::Tensor& keys, const torch::Tensor& values) override;
  std::int64_t advance(std::int64_t tokens, std::int64_t live) override;
  void end() override;

 private:
  std::int64_t rows_ = 0;
  std::vector<KeysAndValues> past_, present_;
};

/// One buffer of the longest sequence for keys and one for values of each layer, made when first used, then kept for
/// all sequences to come. A row at a time.
class PooledCache : public KvCache {
 public:
  using KvCache::KvCache;
  void begin(std::int64_t rows) override;
  KeysAndValues append(std::int64_t layer, const torch::Tensor& keys, const torch::Tensor& values) override;
  std::int64_t advance(std::int64_t tokens, std::int64_t live) override;
  void end() override {}

 private:
  std::int64_t tokens_ = 0;
  std::vector<KeysAndValues> buffers_;
};

}  // namespace examples
