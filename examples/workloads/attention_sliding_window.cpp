// SPDX-License-Identifier: MIT
// Each query sees the last keys alone. A dense mask has all S x S scores computed and most of them thrown away; blocks
// of queries, each with the keys that one of them can see, compute little more than the band.
#include "common/attention.hpp"
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace workloads::attention_sliding_window {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t batch, heads, sequence, width, window, block;
};

constexpr std::int64_t kTile = 128;  // queries and keys of a block of the flash kernel, for heads of 64

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {1, 2, 128, 32, 32, 32}, {1, 4, 2048, 64, 256, 256},
                                  {2, 16, 8192, 64, 256, 256});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double query = examples::elements({sizes.batch, sizes.heads, sizes.sequence, sizes.width});
  bench::Estimate out =
      examples::estimate_of_elements(3 * query, query, examples::float_or_half_bytes(setup),
                                     4 * query * static_cast<double>(sizes.sequence));  // of all scores
  out.launches = 5;
  out.half = setup.device == "cuda";
  return out;
}

class SlidingWindow : public examples::TensorVariant {
 public:
  explicit SlidingWindow(bool sparse) : sparse_(sparse) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    if (!sparse_) {
      out_ = examples::fused_attention(query_, key_, value_, {.mask = mask_});
    } else if (device().is_cuda()) {
      // The kernel skips blocks outside of the window by itself. Its layout is batch, sequence, heads, width.
      const ProfileRange range("attention");
      out_ = std::get<0>(at::_flash_attention_forward(query_.transpose(1, 2), key_.transpose(1, 2),
                                                      value_.transpose(1, 2), std::nullopt, std::nullopt,
                                                      sizes_.sequence, sizes_.sequence, 0.0, /*is_causal=*/false,
                                                      /*return_debug_mask=*/false, std::nullopt, sizes_.window, 0))
                 .transpose(1, 2);
    } else {
      for (std::int64_t begin = 0; begin < sizes_.sequence; begin += sizes_.block) attend(begin);
    }
  }

  bench::Work work() override {
    bench::Work work;
    work.tokens = static_cast<double>(sizes_.sequence);
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    const auto all = static_cast<double>(sizes_.sequence * sizes_.sequence);
    std::vector<bench::Metric> metrics{{"scores_visited_share", sparse_ ? static_cast<double>(visited()) / all : 1.0}};
    // On a device the optimized variant names its kernel; nothing is chosen.
    if (!sparse_ || device().is_cpu()) metrics.push_back({"sdp_backend", static_cast<double>(backend_)});
    return metrics;
  }

 private:
  void make() override {
    sizes_ = sizes_of(size());
    const auto type = device().is_cuda() ? torch::kBFloat16 : torch::kFloat;
    const auto random = [&] {
      return torch::randn({sizes_.batch, sizes_.heads, sizes_.sequence, sizes_.width}).to(device(), type);
    };
    query_ = random();
    key_ = random();
    value_ = random();
    const std::int64_t rows = sparse_ ? sizes_.block : sizes_.sequence;
    // Blocks past the beginning have the same mask, the first ones its right part.
    mask_ = examples::band(rows, sparse_ ? rows + sizes_.window : rows, sizes_.window, device());
    out_ = torch::zeros_like(query_);
    if (!sparse_) backend_ = examples::fused_backend(size(), query_, key_, value_, {.mask = mask_});
    if (!sparse_ || device().is_cuda()) return;
    const auto keys = key_.narrow(2, 0, rows), values = value_.narrow(2, 0, rows);
    backend_ = examples::fused_backend(size(), query_.narrow(2, 0, rows), keys, values,
                                       {.mask = mask_.narrow(1, sizes_.window, rows)});
  }

  std::int64_t first_key(std::int64_t begin) const { return std::max<std::int64_t>(0, begin - sizes_.window); }

  void attend(std::int64_t begin) {
    const std::int64_t first = first_key(begin), keys = begin + sizes_.block - first;
    const torch::Tensor mask = mask_.narrow(1, mask_.size(1) - keys, keys);
    out_.narrow(2, begin, sizes_.block)
        .copy_(examples::fused_attention(query_.narrow(2, begin, sizes_.block), key_.narrow(2, first, keys),
                                         value_.narrow(2, first, keys), {.mask = mask}));
  }

  /// Of the slices on a CPU; on a device of LibTorch's flash kernel, whose tiles of keys are visited whole.
  std::int64_t visited() const {
    const std::int64_t rows = device().is_cuda() ? kTile : sizes_.block, tile = device().is_cuda() ? kTile : 1;
    std::int64_t scores = 0;
    for (std::int64_t begin = 0; begin < sizes_.sequence; begin += rows)
      scores += rows * (begin + rows - first_key(begin) / tile * tile);
    return scores;
  }

  // Values first: the middle element, which the harness changes, is of a head's first token. That one sees itself
  // alone, and then its query does not matter.
  std::vector<NamedTensor> given() override { return {{"value", value_}, {"query", query_}, {"key", key_}}; }
  std::vector<NamedTensor> results() override { return {{"attention", out_}}; }

  bool sparse_;
  Sizes sizes_{};
  std::int64_t backend_ = 0;
  torch::Tensor query_, key_, value_, mask_, out_;
};

bench::Benchmark attention_sliding_window() {
  bench::Benchmark benchmark;
  benchmark.name = "attention_sliding_window";
  benchmark.estimate = estimate;
  benchmark.purpose = "a window of keys as a dense mask, as blocks";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<SlidingWindow>(false); }, {1e-5, 1e-5}, {1e-2, 1e-2}};
  benchmark.optimized = {[] { return std::make_unique<SlidingWindow>(true); }, {1e-5, 1e-5}, {1e-2, 1e-2}};
  benchmark.least_ratio_cpu = 1.8;
  benchmark.least_ratio_cuda = 3.9;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(attention_sliding_window());

}  // namespace workloads::attention_sliding_window
