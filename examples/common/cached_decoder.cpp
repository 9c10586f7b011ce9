// SPDX-License-Identifier: MIT
#include "common/cached_decoder.hpp"

#include "common/attention.hpp"
#include "common/estimates.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace examples {

using rangefinder::ProfileRange;

namespace {

struct DecoderSizes {
  std::vector<std::int64_t> sequences;  ///< tokens of each
  std::int64_t heads, width, page, block;
  std::int64_t prompt;  ///< tokens of each that are known before the first is decoded, when requests are served
};

DecoderSizes decoder_sizes_of(const std::string& size) {
  return of_size<DecoderSizes>(size, {{8, 16, 8}, 2, 16, 4, 8, 4}, {{128, 256, 128}, 8, 64, 64, 128, 64},
                               {{64, 128, 64, 256}, 16, 64, 64, 64, 32});
}

/// Of products with weights; rows of a batch are padded to the longest.
bench::Estimate estimate_of_decoder(const bench::Setup& setup, bool batched) {
  const DecoderSizes sizes = decoder_sizes_of(setup.size);
  const std::vector<std::int64_t>& sequences = sizes.sequences;
  const std::int64_t hidden = sizes.heads * sizes.width;
  const std::int64_t tokens = std::accumulate(sequences.begin(), sequences.end(), std::int64_t{0});
  const std::int64_t longest = *std::max_element(sequences.begin(), sequences.end());
  const std::int64_t computed = batched ? longest * static_cast<std::int64_t>(sequences.size()) : tokens;
  const double weights = elements({CacheShape{}.layers, 4 * hidden, hidden});
  bench::Estimate out = estimate_of_elements(elements({tokens, hidden}) + weights, elements({tokens, hidden}),
                                             float_or_half_bytes(setup), 2 * weights * static_cast<double>(computed));
  out.launches = static_cast<double>((batched ? longest : tokens) * (8 * CacheShape{}.layers + 2));
  out.half = setup.device == "cuda";
  return out;
}

}  // namespace

void CachedDecoder::make() {
  const DecoderSizes sizes = decoder_sizes_of(size());
  shape_.heads = sizes.heads;
  shape_.width = sizes.width;
  shape_.page = sizes.page;
  shape_.options = torch::TensorOptions(device().is_cuda() ? torch::kHalf : torch::kFloat).device(device());
  block_ = options_.block_wise ? sizes.block : 1;
  prompt_ = sizes.prompt;
  std::int64_t first = 0;
  for (const std::int64_t tokens : sizes.sequences) {
    sequences_.push_back({first, tokens});
    first += tokens;
    shape_.longest = std::max(shape_.longest, tokens);
  }
  if (options_.batched) sort_for_batch();
  shape_.live_tokens = most_live_tokens();
  const std::int64_t hidden = shape_.heads * shape_.width;
  const auto random = [&](std::int64_t rows, std::int64_t columns, double scale) {
    return (torch::randn({rows, columns}) * scale).to(shape_.options);
  };
  in_ = random(first, hidden, 1);
  out_ = torch::zeros_like(in_);
  const double scale = 1 / std::sqrt(static_cast<double>(hidden));
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer)
    layers_.push_back({random(3 * hidden, hidden, scale), random(hidden, hidden, scale)});
  cache_ = options_.cache(shape_);
}

/// The longest first: sequences that go on are the first rows of a batch.
void CachedDecoder::sort_for_batch() {
  std::stable_sort(sequences_.begin(), sequences_.end(),
                   [](const Sequence& a, const Sequence& b) { return a.tokens > b.tokens; });
}

std::int64_t CachedDecoder::most_live_tokens() const {
  std::int64_t most = 0;
  for (std::int64_t end = shape_.page; end < shape_.longest + shape_.page; end += shape_.page) {
    const auto live = std::count_if(sequences_.begin(), sequences_.end(),
                                    [&](const Sequence& sequence) { return sequence.tokens > end - shape_.page; });
    most = std::max(most, live * end);
  }
  return most;
}

void CachedDecoder::step() {
  const torch::NoGradGuard no_grad;
  cache_->reset_counts();
  computed_tokens_ = 0;
  each_request([this](const std::vector<Sequence>& batch) { decode(batch, shape_.longest); });
}

void CachedDecoder::each_request(const std::function<void(const std::vector<Sequence>&)>& request) const {
  if (options_.batched) return request(sequences_);
  for (const Sequence& sequence : sequences_) request({sequence});
}

/// As requests come: a prompt, then tokens none of which is known before the one before it.
void CachedDecoder::serve(RequestClock& clock) {
  const torch::NoGradGuard no_grad;
  computed_tokens_ = 0;  // the same number as of a step
  each_request([&](const std::vector<Sequence>& batch) {
    clock.begin();
    decode(batch, prompt_, [&] { clock.first_token(); });
    std::int64_t tokens = 0;
    for (const Sequence& sequence : batch) tokens += sequence.tokens - prompt_;
    clock.end(tokens);
  });
}

void CachedDecoder::decode(const std::vector<Sequence>& batch, std::int64_t prompt,
                           const std::function<void()>& prompt_read) {
  const ProfileRange range("request");
  auto rows = static_cast<std::int64_t>(batch.size());
  std::int64_t live = rows;
  cache_->begin(rows);
  for (std::int64_t at = 0; live > 0;) {
    const std::int64_t known = std::min(prompt, batch.front().tokens) - at;
    const std::int64_t count = known > 0 ? std::min(block_, known) : 1;
    const torch::Tensor hidden = forward(tokens_at(batch, rows, at, count));
    // Rows whose sequence has ended are padding.
    for (std::int64_t row = 0; row < live; ++row)
      out_.narrow(0, batch[static_cast<std::size_t>(row)].first + at, count).copy_(hidden[row]);
    computed_tokens_ += rows * count;
    at += count;
    if (at == prompt && prompt_read) prompt_read();
    while (live > 0 && batch[static_cast<std::size_t>(live - 1)].tokens <= at) --live;
    rows = cache_->advance(count, live);
  }
  cache_->end();
}

torch::Tensor CachedDecoder::tokens_at(const std::vector<Sequence>& batch, std::int64_t rows, std::int64_t at,
                                       std::int64_t count) const {
  std::vector<torch::Tensor> tokens;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Sequence& sequence = batch[static_cast<std::size_t>(row)];
    tokens.push_back(in_.narrow(0, sequence.first + std::min(at, sequence.tokens - count), count));
  }
  return torch::stack(tokens);
}

torch::Tensor CachedDecoder::forward(torch::Tensor x) {
  const std::int64_t rows = x.size(0), count = x.size(1);
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    const Layer& weights = layers_[static_cast<std::size_t>(layer)];
    torch::Tensor qkv;
    {
      const ProfileRange range("projection");
      qkv = torch::linear(x, weights.qkv).view({rows, count, 3, shape_.heads, shape_.width}).permute({2, 0, 3, 1, 4});
    }
    KvCache::KeysAndValues past;
    {
      const ProfileRange range("cache");
      past = cache_->append(layer, qkv[1], qkv[2]);
    }
    AttentionCall call;
    const std::int64_t all = past.first.size(2);
    if (count > 1) call.mask = band(count, all, all, device());
    const torch::Tensor mixed = fused_attention(qkv[0], past.first, past.second, call);
    const ProfileRange range("projection");
    x = x + torch::linear(mixed.transpose(1, 2).reshape({rows, count, -1}), weights.out);
  }
  return x;
}

bench::Work CachedDecoder::work() {
  bench::Work work;
  work.tokens = static_cast<double>(computed_tokens_);
  work.requests = static_cast<double>(sequences_.size());
  work.useful_share = static_cast<double>(in_.size(0)) / static_cast<double>(computed_tokens_);
  return work;
}

std::vector<bench::Metric> CachedDecoder::metrics() {
  const auto allocations = static_cast<double>(cache_->allocations());
  const auto bytes = static_cast<double>(cache_->bytes_written());
  std::vector<bench::Metric> all =
      serving_metrics([this] { synchronize(); }, [this](RequestClock& clock) { serve(clock); });
  all.push_back({"cache_allocations", allocations, bench::MetricKind::kCount});
  all.push_back({"cache_bytes_written", bytes, bench::MetricKind::kBytes});
  return all;
}

std::vector<NamedTensor> CachedDecoder::given() {
  std::vector<NamedTensor> all{{"hidden", in_}};
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    all.push_back({"qkv of layer " + std::to_string(layer), layers_[layer].qkv});
    all.push_back({"out of layer " + std::to_string(layer), layers_[layer].out});
  }
  return all;
}

bench::Benchmark cache_benchmark(const DecoderOptions& baseline, const DecoderOptions& optimized) {
  bench::Benchmark benchmark;
  benchmark.goal = bench::Goal::kMemory;
  benchmark.memory_above_setup = true;
  benchmark.time_bound = 1.1;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.iterations = 8;
  benchmark.warmup = 2;
  const auto variant = [](const DecoderOptions& options) {
    return bench::VariantSpec{
        [options] { return std::make_unique<CachedDecoder>(options); }, {1e-5, 1e-5}, {2e-3, 2e-3}};
  };
  benchmark.baseline = variant(baseline);
  benchmark.optimized = variant(optimized);
  benchmark.estimate = [batched = baseline.batched](const bench::Setup& setup) {
    return estimate_of_decoder(setup, batched);
  };
  return benchmark;
}

}  // namespace examples
