// SPDX-License-Identifier: MIT
#include "workloads/kernels/device_kernels.hpp"
#include "workloads/kernels/launch.cuh"
#include "workloads/kernels/paged_attention_loop.hpp"

#include <cuda_fp16.h>

namespace examples::kernels {
namespace {

constexpr int kWarp = 32, kWarps = 8;  // of a block, which has one head of one sequence

/// A lane's part of a key or value, loaded at once.
template <typename Element, int kElements>
struct alignas(sizeof(Element) * kElements) Part {
  Element elements[kElements];
  __device__ Element operator[](int i) const { return elements[i]; }
};

template <typename Element, int kElements>
struct LaneSource {
  using Elements = Part<Element, kElements>;
  const Element* keys;
  const Element* all_values;
  float query[kElements];  // scaled
  int lane;

  __device__ Elements part(const Element* row) const { return reinterpret_cast<const Elements*>(row)[lane]; }
  __device__ Elements values(std::int64_t place) const { return part(all_values + place); }
  /// The same for all lanes of a warp, in every bit: both sides of an exchange add the same two numbers.
  __device__ float score(std::int64_t place) const {
    const Elements key = part(keys + place);
    float sum = 0;
    for (int i = 0; i < kElements; ++i) sum += query[i] * static_cast<float>(key[i]);
    for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, distance);
    return sum;
  }
};

/// Warps share a sequence's tokens, lanes a head's width. Each warp has a softmax of its own until the end.
template <typename Element, int kElements>
__global__ void attend_pages(const Element* query, const Element* keys, const Element* values, PageTable table,
                             Element* out, PagedShape shape) {
  constexpr int kWidth = kElements * kWarp;
  __shared__ float most[kWarps], weights[kWarps], sums[kWarps][kWidth];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t head = blockIdx.x, sequence = blockIdx.y;
  const std::int64_t row = (sequence * shape.heads + head) * kWidth;

  LaneSource<Element, kElements> source{keys, values, {}, lane};
  const Part<Element, kElements> mine = source.part(query + row);
  const float scale = rsqrtf(static_cast<float>(kWidth));
  for (int i = 0; i < kElements; ++i) source.query[i] = static_cast<float>(mine[i]) * scale;

  SoftmaxSum<kElements> sum;
  attend(keys_of(table, shape, sequence, head), warp, kWarps, source, sum);

  if (lane == 0) {
    most[warp] = sum.most;
    weights[warp] = sum.weights;
  }
  for (int i = 0; i < kElements; ++i) sums[warp][lane * kElements + i] = sum.values[i];
  __syncthreads();
  if (warp != 0) return;
  for (int other = 1; other < kWarps; ++other) {
    SoftmaxSum<kElements> part;
    part.most = most[other];
    part.weights = weights[other];
    for (int i = 0; i < kElements; ++i) part.values[i] = sums[other][lane * kElements + i];
    sum.merge(part);
  }
  for (int i = 0; i < kElements; ++i)
    out[row + lane * kElements + i] = static_cast<Element>(sum.values[i] / sum.weights);
}

template <typename Element, int kElements>
const char* launch(const PagedArguments& arguments, const PagedShape& shape, void* stream) {
  const dim3 blocks(static_cast<unsigned>(shape.heads), static_cast<unsigned>(shape.sequences));
  attend_pages<Element, kElements><<<blocks, kWarp * kWarps, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const Element*>(arguments.query), static_cast<const Element*>(arguments.keys),
      static_cast<const Element*>(arguments.values), arguments.table, static_cast<Element*>(arguments.out), shape);
  return launch_error();
}

template <typename Element>
const char* launch(const PagedArguments& arguments, const PagedShape& shape, void* stream) {
  switch (shape.width) {
    case 32:
      return launch<Element, 1>(arguments, shape, stream);
    case 64:
      return launch<Element, 2>(arguments, shape, stream);
    case 128:
      return launch<Element, 4>(arguments, shape, stream);
    default:
      return "the width of a head is not 32, 64 or 128";
  }
}

}  // namespace

const char* paged_attention_on_device(const PagedArguments& arguments, const PagedShape& shape, bool half,
                                      void* stream) noexcept {
  return half ? launch<__half>(arguments, shape, stream) : launch<float>(arguments, shape, stream);
}

}  // namespace examples::kernels
