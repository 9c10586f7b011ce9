// SPDX-License-Identifier: MIT
#include "workloads/graphs/graph_decoding.hpp"

#include "common/estimates.hpp"

#include <rangefinder/range.hpp>

namespace examples {
namespace {

// In this order: a smaller graph finds all it needs in what a larger one has left to the pool.
const std::vector<std::int64_t> kLargestFirst{8, 4, 2, 1}, kSmallestFirst{1, 2, 4, 8};

std::int64_t bytes_of(const std::vector<GraphPool>& pools) {
  std::int64_t bytes = 0;
  for (const GraphPool& pool : pools) bytes += pool.reserved_bytes();
  return bytes;
}

FixedDecoderOptions options_of(const std::string& size) {
  return of_size<FixedDecoderOptions>(size, {64, 32, 2, 2, 16, 8}, {512, 128, 4, 4, 32, 8}, {4096, 512, 8, 8, 32, 8});
}

/// How many sequences have a token there, of a number of tokens that 16 divides.
std::int64_t sequences_at(std::int64_t token, const FixedDecoderOptions& options) {
  const std::int64_t part = token * 16 / options.length;
  return part < 8 ? 8 : part < 12 ? 4 : part < 13 ? 3 : part < 14 ? 2 : 1;
}

double tokens_of_step(const FixedDecoderOptions& options) {
  double tokens = 0;
  for (std::int64_t token = 0; token < options.length; ++token)
    tokens += static_cast<double>(sequences_at(token, options));
  return tokens;
}

}  // namespace

bench::Estimate estimate_graph_decoding(const bench::Setup& setup) {
  const FixedDecoderOptions options = options_of(setup.size);
  const auto [vocabulary, width, layers, heads, length, sequences] = options;
  const double weights = elements({layers, 12 * width + 2, width}) + elements({2 * vocabulary + length, width});
  const double tokens = elements({length, sequences});
  const double products = elements({layers, 12 * width, width}) + elements({vocabulary, width});
  return {.input_bytes = kIndexBytes * tokens + kFloatBytes * weights,
          .output_bytes = kFloatBytes * tokens * static_cast<double>(vocabulary),
          .flops = 2 * products * tokens_of_step(options),
          .launches = static_cast<double>(length * (20 * layers + 8)),
          .random_numbers = tokens + weights};
}

void GraphDecoding::step() {
  decoder_->restart();
  eager_tokens_ = 0;
  for (std::int64_t token = 0; token < options_.length; ++token) {
    const rangefinder::ProfileRange range("token");
    const std::int64_t sequences = sequences_at(token, options_);
    if (const auto graph = graphs_.find(sequences); graph != graphs_.end()) {
      graph->second.replay();
    } else {
      decoder_->step(sequences);
      ++eager_tokens_;
    }
  }
}

void GraphDecoding::perturb() {
  const torch::Tensor all = decoder_->tokens().view({-1});
  all[all.numel() / 2].add_(1).remainder_(options_.vocabulary);
}

bench::Work GraphDecoding::work() {
  bench::Work work;
  work.tokens = tokens_of_step(options_);
  return work;
}

std::vector<bench::Metric> GraphDecoding::metrics() {
  using bench::MetricKind;
  std::int64_t launches = 1;  // of the restart
  std::map<std::int64_t, std::int64_t> launches_of_size;
  for (std::int64_t token = 0; token < options_.length; ++token) {
    const auto [size, is_new] = launches_of_size.try_emplace(sequences_at(token, options_), 0);
    if (is_new) size->second = graphs_.contains(size->first) ? 1 : launches_of(size->first);
    launches += size->second;
  }
  std::vector<bench::Metric> all{{"launches_per_step", static_cast<double>(launches), MetricKind::kCount}};
  if (launching_ == Launching::kEager) return all;
  all.push_back({"eager_tokens_per_step", static_cast<double>(eager_tokens_), MetricKind::kCount});
  all.push_back({"graph_pool_bytes", static_cast<double>(bytes_of(pools_)), MetricKind::kBytes});
  if (launching_ == Launching::kSharedPool) {
    std::vector<GraphPool> other;
    const auto graphs = capture(kSmallestFirst, other);
    all.push_back({"graph_pool_bytes_smallest_first", static_cast<double>(bytes_of(other))});
  }
  return all;
}

void GraphDecoding::make() {
  options_ = options_of(size());
  decoder_.emplace(options_, device());
  if (launching_ == Launching::kEager) return;
  graphs_ = capture(kLargestFirst, pools_);
  decoder_->clear();
}

std::vector<NamedTensor> GraphDecoding::given() {
  std::vector<NamedTensor> all{{"tokens", decoder_->tokens()}};
  for (NamedTensor& weight : decoder_->weights()) all.push_back(std::move(weight));
  return all;
}

std::map<std::int64_t, CapturedWork> GraphDecoding::capture(const std::vector<std::int64_t>& sizes,
                                                            std::vector<GraphPool>& pools) {
  std::map<std::int64_t, CapturedWork> graphs;
  for (const std::int64_t sequences : sizes) {
    if (pools.empty() || launching_ == Launching::kPrivatePools) pools.emplace_back();
    decoder_->restart();  // a capture takes steps of its own, and there are not more than there are tokens
    graphs.emplace(sequences, CapturedWork([&] { decoder_->step(sequences); }, pools.back()));
  }
  return graphs;
}

/// Operators that wait to be launched by the host are counted as nodes of a graph that is never replayed.
std::int64_t GraphDecoding::launches_of(std::int64_t sequences) {
  decoder_->restart();
  const GraphPool pool;
  return CapturedWork([&] { decoder_->step(sequences); }, pool).launches();
}

}  // namespace examples
