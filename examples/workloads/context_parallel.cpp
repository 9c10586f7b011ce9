// SPDX-License-Identifier: MIT
// A sequence over several ranks, each with a part of its tokens. Causal attention with keys and values of all ranks
// gathered; and with those of one rank at a time, passed on in a ring while the last ones are used. In a ring the first
// tokens have little to do and the last ones all: so each rank takes a piece from the front and one from the back.
#include "common/decoder_parts.hpp"
#include "common/estimates.hpp"
#include "common/rank_variant.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace workloads::context_parallel {

using examples::Communication;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t length;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t layers;
};

/// Two pieces for each of 2, 3, 4, 6, 8 ranks: lengths are multiples of 48.
Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {96, 32, 2, 2}, {576, 128, 4, 2}, {8064, 1024, 8, 2});
}

double forward_flops(const Sizes& sizes) {
  const double products = 2 * examples::elements({sizes.layers, 4, sizes.width, sizes.width, sizes.length});
  return products + static_cast<double>(sizes.layers) *
                        examples::causal_training_flops(1, sizes.length, 2 * static_cast<double>(sizes.width)) / 3;
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double tokens = examples::elements({sizes.length, sizes.width});
  const double weights =
      examples::elements({sizes.layers, 4, sizes.width, sizes.width}) + examples::elements({sizes.layers, sizes.width});
  bench::Estimate all = examples::estimate_of_elements(tokens + weights, tokens, examples::float_or_half_bytes(setup),
                                                       forward_flops(sizes) / setup.ranks);
  all.launches = static_cast<double>(sizes.layers * (14 + 10 * setup.ranks));
  all.half = setup.device == "cuda";
  return all;
}

struct Layer {
  torch::Tensor norm;  ///< [width]
  torch::Tensor qkv;   ///< [3 width, width]
  torch::Tensor out;   ///< [width, width]
};

/// Attention of some queries with some of their keys. `out` is what softmax over these keys alone gives; the logarithm
/// of the sum of their exponentials tells how much it counts beside other keys.
struct Partial {
  torch::Tensor out;      ///< [1, heads, queries, width of a head]
  torch::Tensor log_sum;  ///< [1, heads, queries]
};

Partial attend(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value, bool causal) {
  static const rangefinder::RangeName kAttention{"attention"};
  const ProfileRange range{kAttention};
  if (query.is_cuda()) {
    auto all = at::_scaled_dot_product_flash_attention(query, key, value, 0.0, causal);
    return {std::get<0>(all).to(torch::kFloat), std::get<1>(all)};
  }
  auto [out, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, causal);
  return {out, log_sum};
}

/// Takes into `all`, from its row `begin` on, what other keys give.
void merge(Partial& all, std::int64_t begin, const Partial& more) {
  static const rangefinder::RangeName kMerge{"merge"};
  const ProfileRange range{kMerge};
  const std::int64_t rows = more.out.size(2);
  torch::Tensor out = all.out.narrow(2, begin, rows), log_sum = all.log_sum.narrow(2, begin, rows);
  const torch::Tensor total = torch::logaddexp(log_sum, more.log_sum);
  out.mul_((log_sum - total).exp_().unsqueeze(-1)).add_(more.out * (more.log_sum - total).exp_().unsqueeze(-1));
  log_sum.copy_(total);
}

/// Layers of norm, causal attention and a product, each added to its input; without gradients.
class Attention : public examples::RankVariant {
 public:
  bench::Work work() override {
    bench::Work work;
    work.tokens = static_cast<double>(sizes_.length) / static_cast<double>(ranks());
    work.flops = forward_flops(sizes_) / static_cast<double>(ranks());
    work.flops_type = examples::flops_type_of(type());
    return work;
  }

 protected:
  /// Heads of this rank's tokens, [1, heads, tokens, width of a head], in the order of `positions`.
  virtual torch::Tensor attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value) = 0;
  /// Which tokens a rank has.
  virtual std::vector<std::int64_t> positions_of(std::int64_t rank) const {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < part(); ++i) all.push_back(rank * part() + i);
    return all;
  }
  virtual void ready() {}

  std::int64_t part() const { return sizes_.length / ranks(); }
  torch::ScalarType type() const { return device().is_cuda() ? torch::kBFloat16 : torch::kFloat; }
  /// Of keys and values of a rank, in one layer.
  std::int64_t part_bytes() const {
    return 2 * part() * sizes_.width * static_cast<std::int64_t>(torch::elementSize(type()));
  }

  Sizes sizes_{};

 private:
  void make() final {
    sizes_ = sizes_of(size());
    const auto mine = [this](const torch::Tensor& tensor) { return tensor.to(type()).to(device()); };
    tokens_ = mine(torch::randn({sizes_.length, sizes_.width}));
    for (std::int64_t i = 0; i < sizes_.layers; ++i) {
      Layer layer;
      layer.norm = mine(1 + 0.1 * torch::randn({sizes_.width}));
      layer.qkv = mine(examples::random_weight({3 * sizes_.width, sizes_.width}));
      layer.out = mine(examples::random_weight({sizes_.width, sizes_.width}));
      layers_.push_back(std::move(layer));
    }
    positions_ = index(positions_of(rank()));
    ready();
  }

  void run() final {
    const torch::NoGradGuard no_grad;
    torch::Tensor x = tokens_.index_select(0, positions_);
    const std::int64_t tokens = x.size(0), width = sizes_.width;
    for (layer_ = 0; layer_ < sizes_.layers; ++layer_) {
      const Layer& layer = layers_[static_cast<std::size_t>(layer_)];
      torch::Tensor qkv;
      {
        static const rangefinder::RangeName kProducts{"products"};
        const ProfileRange range{kProducts};
        qkv = torch::linear(examples::root_mean_square_norm(x, layer.norm), layer.qkv)
                  .view({tokens, 3, sizes_.heads, width / sizes_.heads})
                  .permute({1, 2, 0, 3})
                  .unsqueeze(1)
                  .contiguous();
      }
      const torch::Tensor mixed = attention(qkv[0], qkv[1], qkv[2]).to(type());
      x = x + torch::linear(mixed.squeeze(0).transpose(0, 1).reshape({tokens, width}), layer.out);
    }
    out_ = x;
  }

  std::vector<examples::NamedTensor> given() override {
    std::vector<examples::NamedTensor> all{{"tokens", tokens_}};
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const std::string layer = " of layer " + std::to_string(i);
      all.push_back({"norm" + layer, layers_[i].norm});
      all.push_back({"queries, keys and values" + layer, layers_[i].qkv});
      all.push_back({"output" + layer, layers_[i].out});
    }
    return all;
  }
  std::vector<examples::NamedTensor> results() override {
    std::vector<std::int64_t> positions;
    for (std::int64_t i = 0; i < ranks(); ++i)
      for (const std::int64_t position : positions_of(i)) positions.push_back(position);
    const torch::Tensor all = gathered(out_);
    return {{"output", torch::empty_like(all).index_copy_(0, index(positions), all)}};
  }

  torch::Tensor index(const std::vector<std::int64_t>& values) const {
    return torch::tensor(values, torch::kInt64).to(device());
  }

  torch::Tensor tokens_, out_, positions_;
  std::vector<Layer> layers_;

 protected:
  std::int64_t layer_ = 0;  ///< the one that is computed
};

class Alone : public Attention {
  torch::Tensor attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value) override {
    return torch::scaled_dot_product_attention(query, key, value, {}, 0.0, /*is_causal=*/true);
  }
  examples::Traffic expected_traffic() override { return {}; }
};

/// Keys and values of all ranks on each. Those after a rank's last query are left out of its attention.
class Gathered : public Attention {
  void ready() override {
    const std::int64_t keys = (rank() + 1) * part();
    seen_ = torch::ones({part(), keys}, torch::TensorOptions(torch::kBool).device(device())).tril(keys - part());
  }

  torch::Tensor attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value) override {
    const torch::Tensor keys = all_of(key), values = all_of(value);
    most_bytes_ = static_cast<std::int64_t>(keys.nbytes() + values.nbytes());
    static const rangefinder::RangeName kAttention{"attention"};
    const ProfileRange range{kAttention};
    return torch::scaled_dot_product_attention(query, in_order(keys), in_order(values), seen_);
  }

  torch::Tensor all_of(const torch::Tensor& mine) {
    std::vector<std::int64_t> shape = mine.sizes().vec();
    shape[0] = ranks();
    const torch::Tensor all = torch::empty(shape, mine.options());
    group().all_gather(all, mine.contiguous()).wait();
    return all;
  }
  /// [ranks, heads, tokens, width] to [1, heads, tokens of this rank and those before it, width]
  torch::Tensor in_order(const torch::Tensor& all) const {
    return all.narrow(0, 0, rank() + 1).transpose(0, 1).reshape({1, sizes_.heads, -1, all.size(3)});
  }

  examples::Traffic expected_traffic() override {
    examples::Traffic expected;
    expected[Communication::kAllGather] = {2 * sizes_.layers, sizes_.layers * part_bytes()};
    return expected;
  }
  std::vector<bench::Metric> more_metrics() override {
    TORCH_CHECK(most_bytes_ == ranks() * part_bytes(), "keys and values of all ranks are ", most_bytes_, " bytes");
    return {{"key_value_bytes", static_cast<double>(most_bytes_), bench::MetricKind::kBytes, bench::OverRanks::kMost}};
  }

  torch::Tensor seen_;
  std::int64_t most_bytes_ = 0;
};

/// Keys and values go around: a rank computes with one buffer while the next comes into the other. With one buffer for
/// both, from three ranks on what is sent would be what just came in.
class Ring : public Attention {
 public:
  explicit Ring(bool zigzag) : zigzag_(zigzag) {}

 private:
  std::vector<std::int64_t> positions_of(std::int64_t rank) const override {
    if (!zigzag_) return Attention::positions_of(rank);
    const std::int64_t piece = part() / 2;
    std::vector<std::int64_t> all;
    for (const std::int64_t begin : {rank * piece, (2 * ranks() - 1 - rank) * piece})
      for (std::int64_t i = 0; i < piece; ++i) all.push_back(begin + i);
    return all;
  }

  torch::Tensor attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value) override {
    std::array<torch::Tensor, 2> buffers{torch::stack({key, value}), torch::Tensor()};
    buffers[1] = torch::empty_like(buffers[0]);
    most_bytes_ = static_cast<std::int64_t>(buffers[0].nbytes() + buffers[1].nbytes());
    const auto next = static_cast<int>((rank() + 1) % ranks()),
               last = static_cast<int>((rank() + ranks() - 1) % ranks());
    Partial all;
    for (std::int64_t turn = 0; turn < ranks(); ++turn) {
      const torch::Tensor &current = buffers[turn % 2], &other = buffers[(turn + 1) % 2];
      std::vector<examples::Pending> pending;
      if (turn + 1 < ranks()) {
        const auto tag = static_cast<int>(layer_ * ranks() + turn);
        pending = group().exchange({{current, next, tag}}, {{other, last, tag}});
      }
      use(all, query, current[0], current[1], (rank() + ranks() - turn) % ranks());
      for (examples::Pending& one : pending) one.wait();
    }
    return all.out;
  }

  /// Takes in the keys of one rank, as far as this rank's queries may see them.
  void use(Partial& all, const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
           std::int64_t from) {
    if (from == rank()) {
      // A rank's own tokens are in order, whether in one piece or in two: only later ones are hidden.
      all = attend(query, key, value, /*causal=*/true);
      if (!all.out.is_contiguous()) all.out = all.out.contiguous();
      all.log_sum = all.log_sum.contiguous();
    } else if (!zigzag_) {
      if (from < rank()) merge(all, 0, attend(query, key, value, false));
    } else if (from < rank()) {
      // The front piece comes before both of ours, the back piece after both.
      const std::int64_t piece = part() / 2;
      merge(all, 0, attend(query, key.narrow(2, 0, piece), value.narrow(2, 0, piece), false));
    } else {
      // Both pieces lie between ours: after the front one, before the back one.
      const std::int64_t piece = part() / 2;
      merge(all, piece, attend(query.narrow(2, piece, piece), key, value, false));
    }
  }

  examples::Traffic expected_traffic() override {
    examples::Traffic expected;
    expected[Communication::kSend] = {sizes_.layers * (ranks() - 1), sizes_.layers * (ranks() - 1) * part_bytes()};
    return expected;
  }
  std::vector<bench::Metric> more_metrics() override {
    TORCH_CHECK(most_bytes_ == 2 * part_bytes(), "keys and values of two ranks are ", most_bytes_, " bytes");
    return {{"key_value_bytes", static_cast<double>(most_bytes_), bench::MetricKind::kBytes, bench::OverRanks::kMost}};
  }

  bool zigzag_;
  std::int64_t most_bytes_ = 0;
};

bench::Benchmark row(const std::string& name, const std::string& purpose, bool zigzag) {
  bench::Benchmark benchmark = examples::rank_benchmark(48, {1e-5, 1e-5}, {2e-2, 2e-2});
  benchmark.name = name;
  benchmark.purpose = "keys and values of all ranks gathered; " + purpose;
  benchmark.series = "context_parallel";
  benchmark.goal = bench::Goal::kMemory;
  benchmark.memory_above_setup = true;
  benchmark.time_bound = 3;  // with more ranks than cores a message waits for its receiver's turn
  benchmark.baseline.make = [] { return std::make_unique<Gathered>(); };
  benchmark.optimized.make = [zigzag] { return std::make_unique<Ring>(zigzag); };
  benchmark.reference.make = [] { return std::make_unique<Alone>(); };
  benchmark.estimate = estimate;
  return benchmark;
}

bool add_rows() {
  bench::Benchmark in_order = row("context_parallel_contiguous", "passed on in a ring, tokens in order", false);
  bench::Benchmark zigzag = row("context_parallel", "passed on in a ring, a piece from each end a rank", true);
  in_order.informational = true;
  zigzag.builds_on = in_order.name;
  zigzag.least_ratio_cpu = 1.2;
  return bench::add_benchmark(std::move(in_order)) && bench::add_benchmark(std::move(zigzag));
}

[[maybe_unused]] const bool kAdded = add_rows();

}  // namespace workloads::context_parallel
