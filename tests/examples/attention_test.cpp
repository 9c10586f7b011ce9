// SPDX-License-Identifier: MIT
#include "common/attention.hpp"

#include "common/mlp.hpp"
#include "workloads/kernels/on_device.hpp"

#include <stdexcept>
#include <vector>

#undef CHECK  // LibTorch's
#include "support/catch.hpp"

using examples::AttentionCall;
namespace kernels = examples::kernels;

TEST_CASE("a band has the keys of a query's window", "[examples]") {
  const std::int64_t queries = 4, keys = 7, window = 2;
  const torch::Tensor band = examples::band(queries, keys, window, torch::kCPU);
  for (std::int64_t row = 0; row < queries; ++row) {
    const std::int64_t query = keys - queries + row;
    for (std::int64_t key = 0; key < keys; ++key)
      CHECK(band[row][key].item<bool>() == (key <= query && query - key <= window));
  }
}

TEST_CASE("a fallback to the math kernel is refused where it would be timed", "[examples]") {
  const torch::Tensor x = torch::randn({1, 2, 16, 8});
  const bool before = at::globalContext().userEnabledFlashSDP();
  CHECK(examples::fused_backend("cpu", x, x, x) == 1);
  CHECK(examples::fused_backend("cpu", x, x, x, {.mask = examples::band(16, 16, 4, torch::kCPU)}) == 1);
  at::globalContext().setSDPUseFlash(false);
  CHECK_THROWS_AS(examples::fused_backend("cpu", x, x, x), std::runtime_error);
  CHECK(examples::fused_backend("smoke", x, x, x) == 0);
  at::globalContext().setSDPUseFlash(before);
}

TEST_CASE("explicit and fused attention agree, with what is hidden too", "[examples]") {
  torch::manual_seed(42);
  const torch::Tensor query = torch::randn({1, 2, 16, 8}), key = torch::randn({1, 2, 16, 8}),
                      value = torch::randn({1, 2, 16, 8}), seen = examples::band(16, 16, 16, torch::kCPU);
  const torch::Tensor whole = examples::explicit_attention(query, key, value);
  const torch::Tensor causal = examples::explicit_attention(query, key, value, seen.logical_not());
  CHECK(torch::allclose(whole, examples::fused_attention(query, key, value), 1e-5, 1e-6));
  CHECK(torch::allclose(causal, examples::fused_attention(query, key, value, {.causal = true}), 1e-5, 1e-6));
  CHECK(torch::allclose(causal, examples::fused_attention(query, key, value, {.mask = seen}), 1e-5, 1e-6));
  CHECK_FALSE(torch::allclose(whole, causal, 1e-2, 1e-2));
}

TEST_CASE("the kernel that reads pages in place agrees with attention over gathered keys", "[examples][gpu]") {
  if (!torch::cuda::is_available() || !kernels::device_kernels_built())
    RANGEFINDER_SKIP("no CUDA device, or no kernels");
  torch::manual_seed(42);
  const std::int64_t width = GENERATE(32, 64, 128), heads = 4, key_heads = 2, page = 16, capacity = 5;
  const bool half = GENERATE(false, true);
  const std::vector<std::int64_t> lengths{1, 16, 17, 80};  // also fewer tokens than a block has warps
  const auto sequences = static_cast<std::int64_t>(lengths.size());
  const auto random = [&](at::IntArrayRef shape) {
    return torch::randn(shape, torch::kCUDA).to(half ? torch::kHalf : torch::kFloat);
  };
  const torch::Tensor query = random({sequences, heads, width}), out = torch::zeros_like(query);
  const torch::Tensor keys = random({sequences * capacity, page, key_heads, width}), values = torch::randn_like(keys);
  const torch::Tensor table = torch::randperm(sequences * capacity, torch::kInt64).view({sequences, capacity});
  const torch::Tensor pages = table.to(torch::kCUDA, torch::kInt32);
  const torch::Tensor counts = torch::tensor(lengths, torch::kInt64).to(torch::kCUDA, torch::kInt32);
  kernels::check_launch(kernels::paged_attention_on_device(
      {query.const_data_ptr(),
       keys.const_data_ptr(),
       values.const_data_ptr(),
       {pages.const_data_ptr<std::int32_t>(), counts.const_data_ptr<std::int32_t>()},
       out.data_ptr()},
      {sequences, heads, key_heads, width, page, capacity}, half, kernels::current_stream(query)));
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
    const auto gathered = [&](const torch::Tensor& pool) {
      return pool.index_select(0, table[sequence].to(torch::kCUDA))
          .view({-1, key_heads, width})
          .narrow(0, 0, lengths[static_cast<std::size_t>(sequence)])
          .transpose(0, 1)
          .repeat_interleave(heads / key_heads, 0)
          .to(torch::kDouble);
    };
    const torch::Tensor expected =
        examples::explicit_attention(query[sequence].unsqueeze(1).to(torch::kDouble), gathered(keys), gathered(values));
    const torch::Tensor far = (out[sequence].to(torch::kDouble) - expected.squeeze(1)).norm() / expected.norm();
    CHECK(far.item<double>() < (half ? 1e-3 : 1e-5));
  }
}

TEST_CASE("quantized rows are within half a step of what they stand for", "[examples]") {
  torch::manual_seed(42);
  torch::Tensor x = torch::randn({8, 64}) * torch::pow(10.0, torch::arange(8) - 4.0).unsqueeze(1);
  x[3].zero_();
  const auto [values, scales] = examples::quantize_rows(x);
  CHECK(values.scalar_type() == torch::kChar);
  CHECK((values.to(torch::kFloat) * scales - x).abs().le(scales * 0.501).all().item<bool>());
  CHECK(values.abs().amax(1).eq(127).sum().item<std::int64_t>() == 7);  // all but the zeros
}
