// SPDX-License-Identifier: MIT
// Tokens decoded over keys and values that lie in pages: pages gathered into a row for the fused kernel; and read where
// they are by a kernel of our own, which looks each page up in the table.
#include "common/attention.hpp"
#include "common/estimates.hpp"
#include "common/serving.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/kernels/on_device.hpp"
#include "workloads/kernels/paged_attention.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <string>
#include <vector>

namespace workloads::kv_cache_paged_in_place {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;
namespace kernels = examples::kernels;

struct Sizes {
  std::int64_t sequences, heads, key_heads, context, tokens, width, page;

  std::int64_t pages() const { return (context + tokens + page - 1) / page; }  // of a sequence
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {2, 4, 2, 21, 4, 32, 8}, {4, 8, 2, 1024, 8, 64, 16},
                                  {8, 32, 8, 4096, 16, 128, 16});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double query = examples::elements({sizes.tokens, sizes.sequences, sizes.heads, sizes.width});
  const double key_row = examples::elements({sizes.sequences, sizes.key_heads, sizes.width});
  const double pools = 2 * key_row * static_cast<double>(sizes.pages() * sizes.page);
  bench::Estimate out = examples::estimate_of_elements(
      query + 2 * key_row * static_cast<double>(sizes.tokens) + pools, query, examples::float_or_half_bytes(setup),
      4 * query * static_cast<double>(sizes.context));  // and a few more: the cache grows
  out.input_bytes += sizeof(std::int32_t) * examples::elements({sizes.sequences, sizes.pages()});
  // Keys and values are read, written in a row, and read again.
  out.bytes =
      3 * 2 * examples::float_or_half_bytes(setup) * key_row * examples::elements({sizes.tokens, sizes.context});
  out.launches = 8 * static_cast<double>(sizes.tokens);
  out.half = setup.device == "cuda";
  return out;
}

class Decode : public examples::TensorVariant {
 public:
  explicit Decode(bool in_place) : in_place_(in_place) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    for (std::int64_t token = 0; token < sizes_.tokens; ++token) decode(token);
  }

  bench::Work work() override {
    bench::Work work;
    work.tokens = static_cast<double>(sizes_.tokens * sizes_.sequences);
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    std::vector<bench::Metric> all =
        examples::serving_metrics([this] { synchronize(); }, [this](examples::RequestClock& clock) { serve(clock); });
    double gathered = 0;
    for (std::int64_t token = 0; token < sizes_.tokens && !in_place_; ++token)
      gathered += static_cast<double>(2 * pages_at(token) * sizes_.sequences) *
                  static_cast<double>(keys_.nbytes() / static_cast<std::size_t>(keys_.size(0)));
    all.push_back({"gathered_bytes", gathered, bench::MetricKind::kBytes});
    if (!in_place_) all.push_back({"sdp_backend", static_cast<double>(backend_)});
    return all;
  }

 private:
  /// Sequences are of one length, so that none is padded and nothing is masked: what differs is the gathering alone.
  std::int64_t length_at(std::int64_t token) const { return sizes_.context + token + 1; }
  std::int64_t pages_at(std::int64_t token) const { return (length_at(token) + sizes_.page - 1) / sizes_.page; }

  void decode(std::int64_t token) {
    {
      const ProfileRange range("append");
      const auto write = [&](const torch::Tensor& pool, const torch::Tensor& tokens) {
        pool.view({-1, sizes_.key_heads, sizes_.width}).index_copy_(0, slots_[token], tokens[token]);
      };
      write(keys_, new_keys_);
      write(values_, new_values_);
    }
    in_place_ ? attend_in_place(token) : attend_gathered(token);
  }

  void attend_gathered(std::int64_t token) {
    torch::Tensor keys, values;
    {
      const ProfileRange range("gather");
      const torch::Tensor pages = gathered_pages_.narrow(1, 0, pages_at(token)).flatten();
      const auto gather = [&](const torch::Tensor& pool) {
        return pool.index_select(0, pages)
            .view({sizes_.sequences, -1, sizes_.key_heads, sizes_.width})
            .narrow(1, 0, length_at(token))
            .transpose(1, 2);
      };
      keys = gather(keys_);
      values = gather(values_);
    }
    const torch::Tensor query = query_[token].unsqueeze(2);
    out_[token].copy_(examples::fused_attention(query, keys, values, {.grouped = true}).squeeze(2));
  }

  void attend_in_place(std::int64_t token) {
    const ProfileRange range("attention");
    const torch::Tensor query = query_[token], out = out_[token], lengths = lengths_[token];
    const kernels::PageTable table{table_.const_data_ptr<std::int32_t>(), lengths.const_data_ptr<std::int32_t>()};
    const kernels::PagedShape shape{sizes_.sequences, sizes_.heads, sizes_.key_heads,
                                    sizes_.width,     sizes_.page,  sizes_.pages()};
    if (!device().is_cuda())
      return kernels::check_launch(
          kernels::paged_attention(query.const_data_ptr<float>(), keys_.const_data_ptr<float>(),
                                   values_.const_data_ptr<float>(), table, out.data_ptr<float>(), shape));
    kernels::check_launch(kernels::paged_attention_on_device(
        {query.const_data_ptr(), keys_.const_data_ptr(), values_.const_data_ptr(), table, out.data_ptr()}, shape,
        /*half=*/true, kernels::current_stream(query)));
  }

  /// The context is in the cache: the first token is the first that is decoded.
  void serve(examples::RequestClock& clock) {
    const torch::NoGradGuard no_grad;
    clock.begin();
    decode(0);
    clock.first_token();
    for (std::int64_t token = 1; token < sizes_.tokens; ++token) decode(token);
    clock.end((sizes_.tokens - 1) * sizes_.sequences);
  }

  void make() override {
    sizes_ = sizes_of(size());
    const auto type = device().is_cuda() ? torch::kHalf : torch::kFloat;
    const auto random = [&](at::IntArrayRef shape) { return torch::randn(shape).to(device(), type); };
    query_ = random({sizes_.tokens, sizes_.sequences, sizes_.heads, sizes_.width});
    new_keys_ = random({sizes_.tokens, sizes_.sequences, sizes_.key_heads, sizes_.width});
    new_values_ = random({sizes_.tokens, sizes_.sequences, sizes_.key_heads, sizes_.width});
    // The pools have room for what is decoded; a step writes over what the step before decoded.
    const std::int64_t pages = sizes_.sequences * sizes_.pages();
    keys_ = random({pages, sizes_.page, sizes_.key_heads, sizes_.width});
    values_ = random({pages, sizes_.page, sizes_.key_heads, sizes_.width});
    out_ = torch::zeros_like(query_);
    // Pages come to sequences in the order in which they became free, any.
    const torch::Tensor table = torch::randperm(pages, torch::kInt64).view({sizes_.sequences, -1});
    const torch::Tensor positions = sizes_.context + torch::arange(sizes_.tokens, torch::kInt64);
    const torch::Tensor page = positions.div(sizes_.page, "floor"), row = positions.remainder(sizes_.page);
    slots_ = (table.index_select(1, page) * sizes_.page + row).t().contiguous().to(device());
    lengths_ = (positions + 1).unsqueeze(1).expand({-1, sizes_.sequences}).to(torch::kInt32).contiguous().to(device());
    table_ = table.to(torch::kInt32).to(device());
    gathered_pages_ = table.to(device());
    const auto cached = [&] {
      return torch::empty({1, sizes_.key_heads, sizes_.context, sizes_.width}, query_.options());
    };
    if (!in_place_)
      backend_ = examples::fused_backend(size(), query_[0].narrow(0, 0, 1).unsqueeze(2), cached(), cached(),
                                         {.grouped = true});
  }
  std::vector<NamedTensor> given() override {
    return {{"query", query_},        {"new keys", new_keys_},      {"new values", new_values_},
            {"pages of keys", keys_}, {"pages of values", values_}, {"table", table_}};
  }
  std::vector<NamedTensor> results() override { return {{"attention", out_}}; }

  bool in_place_;
  Sizes sizes_{};
  std::int64_t backend_ = 0;
  torch::Tensor query_, new_keys_, new_values_, keys_, values_, out_;
  torch::Tensor table_, gathered_pages_, slots_, lengths_;
};

bench::Benchmark kv_cache_paged_in_place() {
  bench::Benchmark benchmark;
  // Means of thousands of values are near nothing: as a whole.
  constexpr bench::Tolerance kHalf{.frobenius = 5e-3};
  benchmark.name = "kv_cache_paged_in_place";
  benchmark.estimate = estimate;
  benchmark.purpose = "pages gathered for the fused kernel, read in place by one that knows their table";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Decode>(false); }, {1e-5, 1e-6}, kHalf};
  benchmark.optimized = {[] { return std::make_unique<Decode>(true); }, {1e-5, 1e-6}, kHalf};
  benchmark.least_ratio_cpu = 1.2;
  benchmark.skip = [](const bench::Setup& setup) -> std::string {
    return setup.device == "cuda" && !kernels::device_kernels_built() ? "feature_not_built" : "";
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(kv_cache_paged_in_place());

}  // namespace workloads::kv_cache_paged_in_place
