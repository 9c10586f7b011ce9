// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// Attention of one new token of each sequence over keys and values that lie in pages, read where they are. Free of
// LibTorch, as all kernels here are.
namespace examples::kernels {

/// Queries and out are [sequence, head, width]; keys and values are pools of pages, [page, token, key head, width].
/// Groups of heads / key_heads heads share keys. Width is 32, 64 or 128.
struct PagedShape {
  std::int64_t sequences, heads, key_heads, width;
  std::int64_t page;            ///< tokens of one
  std::int64_t table_capacity;  ///< pages that a row of the table has room for
};

/// Which pages a sequence has, [sequence, table_capacity], and how many tokens, at least one.
struct PageTable {
  const std::int32_t* pages;
  const std::int32_t* lengths;
};

/// softmax(q k^T / sqrt(width)) v on the host, one thread. Null, or why nothing was computed.
const char* paged_attention(const float* query, const float* keys, const float* values, const PageTable& table,
                            float* out, const PagedShape& shape) noexcept;

}  // namespace examples::kernels
