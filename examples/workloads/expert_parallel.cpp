// SPDX-License-Identifier: MIT
// A mixture of experts with some of the experts on each rank: tokens travel to their expert and back. With a message
// for each peer, from tensors made for it; and with one all-to-all of rows that are packed by expert, each way.
#include "common/decoder_parts.hpp"
#include "common/estimates.hpp"
#include "common/rank_variant.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace workloads::expert_parallel {

using examples::Communication;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kGroups = 12, kExperts = 12;  // 2, 3, 4 and 6 ranks divide them
constexpr double kCapacityFactor = 1.25;

/// A group is what a sequence of a batch would be: it stays on one rank, and an expert's capacity is for each group.
struct Sizes {
  std::int64_t group_tokens;
  std::int64_t width;
  std::int64_t hidden;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {24, 32, 64}, {96, 128, 256}, {1368, 1024, 4096});
}

struct Options {
  bool skewed = false;      ///< expert e is chosen as often as 1 / (1 + e) says, not all alike
  bool capacity = false;    ///< of a group an expert takes 1.25 times its share, the rest is dropped
  bool round_trip = false;  ///< experts give back what they got: rows must arrive to the bit
};

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double tokens = examples::elements({kGroups, sizes.group_tokens}),
               weights = examples::elements({kExperts, 2, sizes.width, sizes.hidden});
  const double rows = tokens * static_cast<double>(sizes.width);
  bench::Estimate all = examples::estimate_of_elements(rows + weights, rows, examples::kFloatBytes,
                                                       4 * rows * static_cast<double>(sizes.hidden) / setup.ranks);
  all.launches = static_cast<double>(20 + kExperts / setup.ranks * (4 + 3 * setup.ranks));
  all.input_bytes += examples::kIndexBytes * tokens;
  all.random_numbers += tokens;
  return all;
}

using Counts = std::vector<std::vector<std::int64_t>>;

class Experts : public examples::RankVariant {
 public:
  explicit Experts(Options options) : options_(options) {}

  bench::Work work() override {
    bench::Work work;
    const double tokens = static_cast<double>(kGroups * sizes_.group_tokens) / static_cast<double>(ranks());
    work.tokens = tokens;
    work.flops = options_.round_trip ? 0 : 4 * tokens * examples::elements({sizes_.width, sizes_.hidden});
    work.flops_type = "fp32";
    return work;
  }

 protected:
  virtual void ready() {}

  std::int64_t my_experts() const { return kExperts / ranks(); }
  std::int64_t row_bytes() const { return 4 * sizes_.width; }
  std::int64_t capacity() const {
    return options_.capacity
               ? static_cast<std::int64_t>(std::ceil(kCapacityFactor * static_cast<double>(sizes_.group_tokens) /
                                                     static_cast<double>(kExperts)))
               : std::numeric_limits<std::int64_t>::max();
  }

  torch::Tensor expert(std::int64_t number, const torch::Tensor& rows) const {
    static const rangefinder::RangeName kExpert{"expert"};
    const ProfileRange range{kExpert};
    if (options_.round_trip) return rows.clone();
    return torch::linear(torch::gelu(torch::linear(rows, up_[number])), down_[number]);
  }

  /// Rows of each expert that a rank keeps, told from the choices alone: one after the other, on the host.
  Counts kept_rows() const {
    Counts counts(static_cast<std::size_t>(ranks()), std::vector<std::int64_t>(kExperts, 0));
    const torch::Tensor choices = choices_.cpu();
    const auto* choice = choices.data_ptr<std::int64_t>();
    for (std::int64_t group = 0; group < kGroups; ++group) {
      std::vector<std::int64_t> of_group(kExperts, 0);
      for (std::int64_t i = 0; i < sizes_.group_tokens; ++i) ++of_group[static_cast<std::size_t>(*choice++)];
      std::vector<std::int64_t>& of_rank = counts[static_cast<std::size_t>(group / (kGroups / ranks()))];
      for (std::size_t i = 0; i < of_group.size(); ++i) of_rank[i] += std::min(of_group[i], capacity());
    }
    return counts;
  }
  static std::int64_t sum(const std::vector<std::int64_t>& counts, std::int64_t begin, std::int64_t length) {
    std::int64_t all = 0;
    for (std::int64_t i = begin; i < begin + length; ++i) all += counts[static_cast<std::size_t>(i)];
    return all;
  }

  Options options_;
  Sizes sizes_{};
  torch::Tensor tokens_, choices_;  // [group, token, width], [group, token]
  torch::Tensor up_, down_;         // [expert, hidden, width], [expert, width, hidden]
  torch::Tensor out_;

 private:
  void make() final {
    sizes_ = sizes_of(size());
    tokens_ = torch::randn({kGroups, sizes_.group_tokens, sizes_.width}).to(device());
    torch::Tensor share = torch::ones({kExperts});
    if (options_.skewed) share /= torch::arange(1, kExperts + 1);
    choices_ =
        torch::multinomial(share.expand({kGroups, kExperts}), sizes_.group_tokens, /*replacement=*/true).to(device());
    up_ = examples::random_weight({kExperts, sizes_.hidden, sizes_.width}).to(device());
    down_ = examples::random_weight({kExperts, sizes_.width, sizes_.hidden}).to(device());
    ready();
  }
  std::vector<examples::NamedTensor> given() override {
    return {{"tokens", tokens_}, {"choices", choices_}, {"up", up_}, {"down", down_}};
  }
  std::vector<examples::NamedTensor> results() override { return {{"output", gathered(out_)}}; }
};

/// All tokens and all experts in one process: each token looks for its expert.
class Alone : public Experts {
 public:
  using Experts::Experts;

 private:
  void run() override {
    const torch::NoGradGuard no_grad;
    std::vector<std::vector<std::int64_t>> rows(kExperts);
    const torch::Tensor choices = choices_.cpu();
    const auto* choice = choices.data_ptr<std::int64_t>();
    for (std::int64_t group = 0; group < kGroups; ++group) {
      std::vector<std::int64_t> taken(kExperts, 0);
      for (std::int64_t i = 0; i < sizes_.group_tokens; ++i) {
        const auto number = static_cast<std::size_t>(*choice++);
        if (++taken[number] <= capacity()) rows[number].push_back(group * sizes_.group_tokens + i);
      }
    }
    out_ = tokens_.clone();
    const torch::Tensor flat = tokens_.flatten(0, 1);
    torch::Tensor out = out_.flatten(0, 1);
    for (std::int64_t number = 0; number < kExperts; ++number) {
      const torch::Tensor index = torch::tensor(rows[static_cast<std::size_t>(number)], torch::kInt64).to(device());
      out.index_add_(0, index, expert(number, flat.index_select(0, index)));
    }
  }
  examples::Traffic expected_traffic() override { return {}; }
};

/// What both ways of sending have in common: which row goes where, and what experts do with rows of several ranks.
class Distributed : public Experts {
 public:
  using Experts::Experts;

 protected:
  struct Routing {
    torch::Tensor rows;            ///< those that are kept, by expert
    torch::Tensor counts;          ///< [expert]
    std::vector<std::int64_t> to;  ///< rows for the experts of each rank
  };
  Routing route() const {
    static const rangefinder::RangeName kRoute{"route"};
    const ProfileRange range{kRoute};
    torch::Tensor choices = my_part(choices_).flatten();
    torch::Tensor rows = torch::arange(choices.numel(), choices.options());
    if (options_.capacity) {
      // How many tokens of the group chose the same expert, up to and with this one.
      const torch::Tensor chosen = torch::one_hot(my_part(choices_), kExperts);
      const torch::Tensor kept = ((chosen.cumsum(1) * chosen).sum(-1) <= capacity()).flatten();
      rows = rows.masked_select(kept);
      choices = choices.masked_select(kept);
    }
    Routing routing;
    routing.rows = rows.index_select(0, choices.argsort(/*stable=*/true, 0, false));
    routing.counts = torch::bincount(choices, {}, kExperts);
    routing.to = of_ranks(on_host(routing.counts));
    return routing;
  }

  std::vector<std::int64_t> on_host(const torch::Tensor& counts) const {
    const torch::Tensor host = counts.cpu().contiguous();
    const auto* first = host.data_ptr<std::int64_t>();
    return {first, first + host.numel()};
  }
  std::vector<std::int64_t> of_ranks(const std::vector<std::int64_t>& counts) const {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < ranks(); ++i) all.push_back(sum(counts, i * my_experts(), my_experts()));
    return all;
  }

  /// Runs this rank's experts: each on its rows of all ranks at once. `counts`: [rank, expert of this rank]; rows of a
  /// rank are by expert.
  void run_experts(const std::vector<torch::Tensor>& in, std::vector<torch::Tensor>& out,
                   const std::vector<std::int64_t>& counts) const {
    std::vector<std::int64_t> offsets(in.size(), 0);
    for (std::int64_t i = 0; i < my_experts(); ++i) {
      std::vector<torch::Tensor> pieces, places;
      for (std::size_t from = 0; from < in.size(); ++from) {
        const std::int64_t rows = counts[from * static_cast<std::size_t>(my_experts()) + static_cast<std::size_t>(i)];
        pieces.push_back(in[from].narrow(0, offsets[from], rows));
        places.push_back(out[from].narrow(0, offsets[from], rows));
        offsets[from] += rows;
      }
      const torch::Tensor result = expert(rank() * my_experts() + i, torch::cat(pieces));
      std::int64_t row = 0;
      for (torch::Tensor& place : places) {
        place.copy_(result.narrow(0, row, place.size(0)));
        row += place.size(0);
      }
    }
  }

  std::vector<bench::Metric> more_metrics() override {
    const Counts counts = kept_rows();
    std::int64_t kept = 0, received = 0;
    for (std::size_t from = 0; from < counts.size(); ++from) {
      if (static_cast<std::int64_t>(from) == rank()) kept = sum(counts[from], 0, kExperts);
      received += sum(counts[from], rank() * my_experts(), my_experts());
    }
    const std::int64_t dropped = kGroups / ranks() * sizes_.group_tokens - kept;
    TORCH_CHECK(kept == kept_, "rank ", rank(), " sent ", kept_, " rows, its choices ask for ", kept);
    return {{"dropped_tokens", static_cast<double>(dropped), bench::MetricKind::kCount},
            {"most_rows_of_a_rank", static_cast<double>(received), bench::MetricKind::kFact, bench::OverRanks::kMost}};
  }

  std::int64_t kept_ = 0;
};

/// Counts and rows in messages of their own for each peer, in tensors that are made anew.
class Messages : public Distributed {
 public:
  using Distributed::Distributed;

 private:
  enum Tag : int { kCounts, kRows, kResults };

  void run() override {
    const torch::NoGradGuard no_grad;
    const torch::Tensor tokens = my_part(tokens_).flatten(0, 1);
    const Routing routing = route();
    std::vector<torch::Tensor> counts =
        pieces(routing.counts, std::vector<std::int64_t>(static_cast<std::size_t>(ranks()), my_experts()));
    std::vector<torch::Tensor> all_counts;
    for (const torch::Tensor& piece : counts) all_counts.push_back(torch::empty_like(piece));
    swap(counts, all_counts, kCounts);
    const std::vector<std::int64_t> received = on_host(torch::cat(all_counts));

    std::vector<torch::Tensor> out, in, results, back;
    for (const torch::Tensor& rows : pieces(routing.rows, routing.to)) {
      out.push_back(tokens.index_select(0, rows));
      back.push_back(torch::empty_like(out.back()));
    }
    for (std::int64_t from = 0; from < ranks(); ++from) {
      in.push_back(torch::empty({sum(received, from * my_experts(), my_experts()), sizes_.width}, tokens.options()));
      results.push_back(torch::empty_like(in.back()));
    }
    swap(out, in, kRows);
    run_experts(in, results, received);
    swap(results, back, kResults);
    out_ = tokens.clone().index_add_(0, routing.rows, torch::cat(back));
    out_ = out_.view({-1, sizes_.group_tokens, sizes_.width});
    kept_ = routing.rows.numel();
  }

  static std::vector<torch::Tensor> pieces(const torch::Tensor& all, const std::vector<std::int64_t>& lengths) {
    std::vector<torch::Tensor> pieces;
    std::int64_t begin = 0;
    for (const std::int64_t length : lengths) {
      pieces.push_back(all.narrow(0, begin, length).clone());
      begin += length;
    }
    return pieces;
  }

  /// Where there are no rows there is no message; both ends know.
  void swap(const std::vector<torch::Tensor>& out, std::vector<torch::Tensor>& in, Tag tag) {
    std::vector<examples::Message> sends, receives;
    for (std::int64_t peer = 0; peer < ranks(); ++peer) {
      const auto i = static_cast<std::size_t>(peer);
      if (peer == rank()) {
        in[i].copy_(out[i]);
        continue;
      }
      if (out[i].numel() > 0) sends.push_back({out[i], static_cast<int>(peer), tag});
      if (in[i].numel() > 0) receives.push_back({in[i], static_cast<int>(peer), tag});
    }
    for (examples::Pending& pending : group().exchange(sends, receives)) pending.wait();
  }

  examples::Traffic expected_traffic() override {
    const Counts counts = kept_rows();
    examples::Traffic expected;
    examples::Traffic::Count& sent = expected[Communication::kSend];
    const auto add = [&sent](std::int64_t bytes) {
      sent.calls += bytes > 0 ? 1 : 0;
      sent.bytes += bytes;
    };
    for (std::int64_t peer = 0; peer < ranks(); ++peer) {
      if (peer == rank()) continue;
      add(8 * my_experts());
      add(row_bytes() * sum(counts[static_cast<std::size_t>(rank())], peer * my_experts(), my_experts()));
      add(row_bytes() * sum(counts[static_cast<std::size_t>(peer)], rank() * my_experts(), my_experts()));
    }
    return expected;
  }
};

/// Rows packed by expert into buffers that exist from the start; one all-to-all of counts, one of rows, one of results.
class Packed : public Distributed {
 public:
  using Distributed::Distributed;

 private:
  void ready() override {
    const std::int64_t mine = kGroups / ranks() * sizes_.group_tokens;
    const std::int64_t most =
        std::min(kGroups * sizes_.group_tokens,
                 options_.capacity ? kGroups * my_experts() * capacity() : std::numeric_limits<std::int64_t>::max());
    const auto buffer = [this](std::int64_t rows) { return torch::empty({rows, sizes_.width}, tokens_.options()); };
    out_rows_ = buffer(mine);
    back_rows_ = buffer(mine);
    in_rows_ = buffer(most);
    result_rows_ = buffer(most);
    all_counts_ = torch::empty({kExperts}, choices_.options());
  }

  void run() override {
    const torch::NoGradGuard no_grad;
    const torch::Tensor tokens = my_part(tokens_).flatten(0, 1);
    const Routing routing = route();
    kept_ = routing.rows.numel();
    const std::vector<std::int64_t> equal(static_cast<std::size_t>(ranks()), my_experts());
    group().all_to_all(all_counts_, routing.counts, equal, equal).wait();
    const std::vector<std::int64_t> received = on_host(all_counts_), from = of_ranks(received);
    const std::int64_t rows = sum(received, 0, kExperts);

    torch::Tensor out = out_rows_.narrow(0, 0, kept_), in = in_rows_.narrow(0, 0, rows);
    at::index_select_out(out, tokens, 0, routing.rows);
    group().all_to_all(in, out, from, routing.to).wait();
    torch::Tensor results = result_rows_.narrow(0, 0, rows), back = back_rows_.narrow(0, 0, kept_);
    std::vector<torch::Tensor> in_pieces = in.split_with_sizes(from), result_pieces = results.split_with_sizes(from);
    run_experts(in_pieces, result_pieces, received);
    group().all_to_all(back, results, routing.to, from).wait();
    out_ = tokens.clone().index_add_(0, routing.rows, back);
    out_ = out_.view({-1, sizes_.group_tokens, sizes_.width});
  }

  examples::Traffic expected_traffic() override {
    const Counts counts = kept_rows();
    const auto me = static_cast<std::size_t>(rank());
    std::int64_t rows = sum(counts[me], 0, kExperts);
    for (const std::vector<std::int64_t>& of_rank : counts) rows += sum(of_rank, rank() * my_experts(), my_experts());
    examples::Traffic expected;
    expected[Communication::kAllToAll] = {3, 8 * kExperts + rows * row_bytes()};
    expected.own_bytes = 8 * my_experts() + 2 * row_bytes() * sum(counts[me], rank() * my_experts(), my_experts());
    return expected;
  }

  torch::Tensor out_rows_, in_rows_, result_rows_, back_rows_, all_counts_;
};

bench::Benchmark row(const std::string& suffix, const std::string& purpose, Options options) {
  const bench::Tolerance tolerance = options.round_trip ? bench::Tolerance{} : bench::Tolerance{1e-5, 1e-5};
  const bench::Tolerance cuda = options.round_trip ? bench::Tolerance{} : bench::Tolerance{1e-3, 1e-4};
  bench::Benchmark benchmark = examples::rank_benchmark(kExperts, tolerance, cuda);
  benchmark.name = "expert_parallel" + suffix;
  benchmark.purpose = "a message for each peer, one packed all-to-all each way" + purpose;
  benchmark.baseline.make = [options] { return std::make_unique<Messages>(options); };
  benchmark.optimized.make = [options] { return std::make_unique<Packed>(options); };
  benchmark.reference.make = [options] { return std::make_unique<Alone>(options); };
  benchmark.informational = !suffix.empty();
  benchmark.check_size = "cpu";  // at size gpu drawing the experts takes a second each time
  benchmark.estimate = estimate;
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(row("", "", {})) &&
    bench::add_benchmark(row("_skewed", "; a few experts are chosen most", {.skewed = true})) &&
    bench::add_benchmark(row("_capacity", "; the same, and experts drop what is over their capacity",
                             {.skewed = true, .capacity = true})) &&
    bench::add_benchmark(row("_round_trip", "; experts give back what they got", {.skewed = true, .round_trip = true}));

}  // namespace workloads::expert_parallel
