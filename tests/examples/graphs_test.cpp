// SPDX-License-Identifier: MIT
#include "workloads/graphs/captured_work.hpp"
#include "workloads/graphs/fixed_decoder.hpp"

#include <cmath>
#include <map>
#include <string>

#undef CHECK  // LibTorch's
#include "support/catch.hpp"

using examples::CapturedWork;
using examples::FixedDecoder;
using examples::FixedDecoderOptions;
using examples::GraphPool;
using torch::Tensor;

namespace {

constexpr FixedDecoderOptions kSmall{
    .vocabulary = 32, .width = 16, .layers = 2, .heads = 2, .length = 8, .sequences = 4};

std::string no_graphs() {
  if (!torch::cuda::is_available()) return "no CUDA device";
  return examples::graphs_built() ? "" : "built without graphs";
}

/// All tokens of a sequence at once, by a causal mask.
Tensor whole(const FixedDecoder& decoder, std::int64_t sequence) {
  std::map<std::string, Tensor> weights;
  for (const examples::NamedTensor& weight : decoder.weights()) weights[weight.name] = weight.tensor;
  Tensor x = weights["embedding"].index_select(0, decoder.tokens().select(1, sequence)) + weights["places"];
  for (std::int64_t i = 0; i < kSmall.layers; ++i) {
    const auto weight = [&](const char* name) { return weights["layer." + std::to_string(i) + "." + name]; };
    const auto normed = [&](const char* name) { return torch::layer_norm(x, {kSmall.width}, weight(name)); };
    const Tensor qkv = torch::linear(normed("norm1"), weight("qkv"))
                           .view({kSmall.length, 3, kSmall.heads, kSmall.width / kSmall.heads})
                           .permute({1, 2, 0, 3});
    const Tensor scores =
        torch::matmul(qkv[0], qkv[1].transpose(-1, -2)) / std::sqrt(static_cast<double>(kSmall.width / kSmall.heads));
    const Tensor hidden = torch::ones({kSmall.length, kSmall.length}).triu(1).to(torch::kBool);
    const Tensor mixed = torch::matmul(scores.masked_fill(hidden, -INFINITY).softmax(-1), qkv[2]);
    x = x + torch::linear(mixed.transpose(0, 1).flatten(1), weight("out"));
    x = x + torch::linear(torch::gelu(torch::linear(normed("norm2"), weight("up"))), weight("down"));
  }
  return torch::linear(x, weights["head"]);
}

}  // namespace

TEST_CASE("a decoder that counts its position itself comes to what the whole sequence gives", "[examples]") {
  torch::manual_seed(42);
  FixedDecoder decoder(kSmall, torch::kCPU);
  for (int again = 0; again < 2; ++again) {  // what an earlier round left in the caches is hidden
    decoder.restart();
    for (std::int64_t token = 0; token < kSmall.length; ++token) decoder.step(token < 4 ? 4 : 2);
    for (const std::int64_t sequence : {0, 1})
      CHECK(torch::allclose(decoder.logits().select(1, sequence), whole(decoder, sequence), 1e-5, 1e-5));
    CHECK(
        torch::allclose(decoder.logits().select(1, 3).narrow(0, 0, 4), whole(decoder, 3).narrow(0, 0, 4), 1e-5, 1e-5));
    CHECK(decoder.logits().select(1, 3).narrow(0, 4, 4).eq(0).all().item<bool>());  // it had ended
  }
  decoder.clear();
  CHECK(decoder.logits().eq(0).all().item<bool>());
}

TEST_CASE("a benchmark of graphs is skipped on a device alone", "[examples]") {
  CHECK(examples::skip_without_graphs({.device = "cpu"}).empty());
  CHECK(examples::skip_without_graphs({.device = "cuda"}) == (examples::graphs_built() ? "" : "feature_not_built"));
}

TEST_CASE("a replay reads what lies at its addresses by then", "[examples][gpu]") {
  if (const std::string reason = no_graphs(); !reason.empty()) RANGEFINDER_SKIP(reason);
  const auto options = torch::TensorOptions(torch::kCUDA);
  const Tensor in = torch::ones({4}, options), weight = torch::full({4}, 2.0, options);
  Tensor out = torch::zeros({4}, options);
  GraphPool pool;
  CapturedWork work([&] { torch::mul_out(out, in, weight); }, pool);
  CHECK(work.launches() == 1);
  out.zero_();
  work.replay();
  CHECK(out.eq(2).all().item<bool>());
  in.fill_(5);
  weight.add_(1);
  work.replay();
  CHECK(out.eq(15).all().item<bool>());
}

TEST_CASE("a graph takes its temporaries from its pool, and gives them back with it", "[examples][gpu]") {
  if (const std::string reason = no_graphs(); !reason.empty()) RANGEFINDER_SKIP(reason);
  const auto options = torch::TensorOptions(torch::kCUDA);
  const Tensor in = torch::ones({1 << 22}, options), sum = torch::zeros({}, options);
  const auto part = [&](std::int64_t count) { return [&, count] { sum.copy_((in.narrow(0, 0, count) * 2).sum()); }; };
  const GraphPool shared, first, second;
  {
    const CapturedWork large(part(1 << 22), shared), small(part(1 << 21), shared);
    const CapturedWork alone(part(1 << 22), first), other(part(1 << 21), second);
    CHECK(shared.reserved_bytes() > 0);
    CHECK(shared.reserved_bytes() < first.reserved_bytes() + second.reserved_bytes());
  }
}

TEST_CASE("work that waits for the device cannot be captured, and leaves the stream as it was", "[examples][gpu]") {
  if (const std::string reason = no_graphs(); !reason.empty()) RANGEFINDER_SKIP(reason);
  Tensor value = torch::ones({1}, torch::TensorOptions(torch::kCUDA));
  const GraphPool pool;
  CHECK_THROWS_AS(CapturedWork([&] { value.fill_(value.item<float>()); }, pool), c10::Error);
  CHECK(value.add(1).item<float>() == 2);
}
