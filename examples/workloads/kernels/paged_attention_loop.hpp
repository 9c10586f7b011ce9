// SPDX-License-Identifier: MIT
#pragma once

#include "workloads/kernels/paged_attention.hpp"

#include <cmath>
#include <cstdint>

// The inner loop of paged attention, the same code for a processor and for a lane of a device: what is tested on a host
// is what a device runs.
#if defined(__CUDACC__)
#define EXAMPLES_INLINE_ANYWHERE __host__ __device__ __forceinline__
#else
#define EXAMPLES_INLINE_ANYWHERE [[gnu::always_inline]] inline
#endif

namespace examples::kernels {

/// Values weighted by exp(score), relative to the greatest score so far: a greater one scales down what is there.
template <int kElements>
struct SoftmaxSum {
  float most = -INFINITY, weights = 0;
  float values[kElements] = {};

  template <typename Values>
  EXAMPLES_INLINE_ANYWHERE void add(float score, const Values& value) {
    if (score > most) rescale(score);
    const float weight = expf(score - most);
    weights += weight;
    for (int i = 0; i < kElements; ++i) values[i] += weight * static_cast<float>(value[i]);
  }

  /// As if what the other was given had been given to this one.
  EXAMPLES_INLINE_ANYWHERE void merge(const SoftmaxSum& other) {
    if (other.weights == 0) return;  // was given nothing
    if (other.most > most) rescale(other.most);
    const float share = expf(other.most - most);
    weights += share * other.weights;
    for (int i = 0; i < kElements; ++i) values[i] += share * other.values[i];
  }

 private:
  EXAMPLES_INLINE_ANYWHERE void rescale(float greater) {
    const float share = expf(most - greater);  // 0 of nothing
    weights *= share;
    for (int i = 0; i < kElements; ++i) values[i] *= share;
    most = greater;
  }
};

/// Where the keys of a sequence are for one head: values have the same places in their own pool.
struct PagedKeys {
  const std::int32_t* pages;
  int page, length;
  std::int64_t token_elements, first_element;

  EXAMPLES_INLINE_ANYWHERE std::int64_t at(int token) const {
    return (static_cast<std::int64_t>(pages[token / page]) * page + token % page) * token_elements + first_element;
  }
};

EXAMPLES_INLINE_ANYWHERE PagedKeys keys_of(const PageTable& table, const PagedShape& shape, std::int64_t sequence,
                                           std::int64_t head) {
  const std::int64_t key_head = head / (shape.heads / shape.key_heads);
  return {table.pages + sequence * shape.table_capacity, static_cast<int>(shape.page), table.lengths[sequence],
          shape.key_heads * shape.width, key_head * shape.width};
}

/// Adds each `stride`th token from `first` on. A source has score(place), and values(place) as an array.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // a source may be for the device alone
#endif
template <int kElements, typename Source>
EXAMPLES_INLINE_ANYWHERE void attend(const PagedKeys& keys, int first, int stride, const Source& source,
                                     SoftmaxSum<kElements>& sum) {
  for (int token = first; token < keys.length; token += stride) {
    const std::int64_t place = keys.at(token);
    const auto values = source.values(place);  // under way while the score is computed
    sum.add(source.score(place), values);
  }
}

}  // namespace examples::kernels
