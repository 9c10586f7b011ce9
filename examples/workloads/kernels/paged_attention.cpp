// SPDX-License-Identifier: MIT
#include "workloads/kernels/paged_attention.hpp"

#include "workloads/kernels/cpu_target.hpp"
#include "workloads/kernels/paged_attention_loop.hpp"

#include <cmath>
#include <cstring>

namespace examples::kernels {
namespace {

using Lanes = float __attribute__((vector_size(32)));
constexpr int kLanes = 8, kChains = 4;  // sums that do not wait for one another

template <int kWidth>
struct HostSource {
  const float* query;
  const float* keys;
  const float* all_values;
  float scale;

  EXAMPLES_INLINE float score(std::int64_t place) const {
    Lanes sums[kChains] = {};
    for (int i = 0; i < kWidth; i += kChains * kLanes) {
      Lanes q[kChains], k[kChains];
      std::memcpy(q, query + i, sizeof q);
      std::memcpy(k, keys + place + i, sizeof k);
      for (int chain = 0; chain < kChains; ++chain) sums[chain] += q[chain] * k[chain];
    }
    const Lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) sum += all[lane];
    return sum * scale;
  }
  EXAMPLES_INLINE const float* values(std::int64_t place) const { return all_values + place; }
};

template <int kWidth>
EXAMPLES_INLINE void compute(const float* query, const float* keys, const float* values, const PageTable& table,
                             float* out, const PagedShape& shape) {
  const float scale = 1 / std::sqrt(static_cast<float>(kWidth));
  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t row = (sequence * shape.heads + head) * kWidth;
      SoftmaxSum<kWidth> sum;
      attend(keys_of(table, shape, sequence, head), 0, 1, HostSource<kWidth>{query + row, keys, values, scale}, sum);
      for (int i = 0; i < kWidth; ++i) out[row + i] = sum.values[i] / sum.weights;
    }
  }
}

template <int kWidth>
EXAMPLES_FOR_AVX2 void compute_avx2(const float* query, const float* keys, const float* values, const PageTable& table,
                                    float* out, const PagedShape& shape) {
  compute<kWidth>(query, keys, values, table, out, shape);
}

template <int kWidth>
const char* run(const float* query, const float* keys, const float* values, const PageTable& table, float* out,
                const PagedShape& shape) {
  (has_avx2() ? compute_avx2<kWidth> : compute<kWidth>)(query, keys, values, table, out, shape);
  return nullptr;
}

}  // namespace

const char* paged_attention(const float* query, const float* keys, const float* values, const PageTable& table,
                            float* out, const PagedShape& shape) noexcept {
  switch (shape.width) {
    case 32:
      return run<32>(query, keys, values, table, out, shape);
    case 64:
      return run<64>(query, keys, values, table, out, shape);
    case 128:
      return run<128>(query, keys, values, table, out, shape);
    default:
      return "the width of a head is not 32, 64 or 128";
  }
}

}  // namespace examples::kernels
