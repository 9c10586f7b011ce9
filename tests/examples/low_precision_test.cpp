// SPDX-License-Identifier: MIT
//
// Products in low precision against float64 and against what their formats allow.
#include "common/low_precision.hpp"

#include "common/block_scales.hpp"
#include "common/float8_linear.hpp"

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#undef CHECK  // LibTorch's
#include "support/catch.hpp"

using examples::BlockFormat;
using examples::Float8;
using examples::Format;
using examples::Scales;
using torch::Tensor;

namespace {

struct Row {
  const char* name;
  double bound;
  std::function<Tensor(const Tensor& a, const Tensor& b)> product;  ///< a b^T
};

std::vector<Row> formats() {
  const auto float8 = [](Scales scales) {
    return [scales](const Tensor& a, const Tensor& b) {
      return examples::product(examples::quantize_float8(a, Format::kE4m3, scales),
                               examples::quantize_float8(b, Format::kE4m3, scales));
    };
  };
  const auto blocks = [](BlockFormat format) {
    return [format](const Tensor& a, const Tensor& b) {
      return at::mm(examples::dequantize(examples::quantize_blocks(a, format)),
                    examples::dequantize(examples::quantize_blocks(b, format)).t());
    };
  };
  const auto bound = [](Format format) { return examples::product_error_bound(format, format); };
  return {{"bfloat16", bound(Format::kBFloat16),
           [](const Tensor& a, const Tensor& b) {
             const auto cast = [](const Tensor& x) { return x.to(torch::kBFloat16).to(torch::kFloat); };
             return at::mm(cast(a), cast(b).t());
           }},
          {"float8 e4m3, scales of tensors", bound(Format::kE4m3), float8(Scales::kOfTensor)},
          {"float8 e4m3, scales of rows", bound(Format::kE4m3), float8(Scales::kOfRows)},
          {"float8 e5m2 by e4m3, scales of tensors", examples::product_error_bound(Format::kE5m2, Format::kE4m3),
           [](const Tensor& a, const Tensor& b) {
             return examples::product(examples::quantize_float8(a, Format::kE5m2, Scales::kOfTensor),
                                      examples::quantize_float8(b, Format::kE4m3, Scales::kOfTensor));
           }},
          {"MXFP8 (emulated)", bound(Format::kE4m3), blocks(BlockFormat::kMxfp8)},
          {"NVFP4 (emulated)", bound(Format::kE2m1), blocks(BlockFormat::kNvfp4)}};
}

/// Student's t with three degrees of freedom: a few elements are a hundred times the usual size.
Tensor heavy_tailed(torch::IntArrayRef shape) {
  const Tensor normal = torch::randn(shape);
  return normal / torch::randn({3, shape[0], shape[1]}).square().mean(0).sqrt();
}

}  // namespace

// docs/reference/low-precision.md shows what this prints.
TEST_CASE("products in low precision are as far from float64 as their formats allow", "[examples][errors]") {
  torch::manual_seed(42);
  std::printf("| elements | inputs | relative error | allowed | largest error |\n|---|---|---:|---:|---:|\n");
  for (const bool heavy : {false, true}) {
    const auto draw = [&] { return heavy ? heavy_tailed({256, 512}) : torch::randn({256, 512}); };
    const Tensor a = draw(), b = draw();
    const Tensor exact = at::mm(a.to(torch::kDouble), b.to(torch::kDouble).t());
    // Of an element's terms: what errors of a sum are like, whatever outliers it has.
    const Tensor sizes = at::mm(a.to(torch::kDouble).square(), b.to(torch::kDouble).square().t()).sqrt();
    for (const Row& row : formats()) {
      const Tensor found = row.product(a, b);
      const double error = examples::relative_error(found, exact);
      const double most = ((found.to(torch::kDouble) - exact).abs() / sizes).max().item<double>();
      std::printf("| %s | %s | %.2f %% | %.2f %% | %.2f %% |\n", row.name, heavy ? "heavy-tailed" : "normal",
                  100 * error, 100 * row.bound, 100 * most);
      INFO(row.name);
      CHECK_NOTHROW(examples::require_error_below(row.name, error, row.bound));
      CHECK(error > row.bound / 4);               // it was rounded at all
      CHECK(most < (heavy ? 8 : 6) * row.bound);  // beside an outlier a block of e2m1 has few steps left
    }
  }
}

TEST_CASE("a wrong scale is seen", "[examples]") {
  torch::manual_seed(42);
  const Tensor a = torch::randn({64, 128}), b = torch::randn({48, 128}), exact = at::mm(a, b.t());
  const double bound = examples::product_error_bound(Format::kE4m3, Format::kE4m3);
  const Scales scales = GENERATE(Scales::kOfTensor, Scales::kOfRows);
  const Float8 left = examples::quantize_float8(a, Format::kE4m3, scales);
  const Float8 right = examples::quantize_float8(b, Format::kE4m3, scales);
  const auto check = [&](const Float8& other) {
    examples::require_error_below("product", examples::relative_error(examples::product(left, other), exact), bound);
  };
  CHECK_NOTHROW(check(right));
  CHECK_THROWS_AS(check({right.values, right.scales * 1.1}), std::runtime_error);
  CHECK_THROWS_AS(check({right.values, right.scales / 1.1}), std::runtime_error);
  CHECK_THROWS_AS(check({right.values, right.scales * std::numeric_limits<float>::quiet_NaN()}), std::runtime_error);
  try {
    check({right.values, right.scales * 2});
    FAIL("a scale that is twice too large");
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    CHECK(text.find("product: the relative error is 1") == 0);
    CHECK(text.find("the format allows 0.05") != std::string::npos);
  }
  // Scales of blocks too.
  examples::BlockScaled four = examples::quantize_blocks(b, BlockFormat::kNvfp4);
  const auto error_of_four = [&] { return examples::relative_error(at::mm(a, examples::dequantize(four).t()), exact); };
  const double of_one = examples::unit_roundoff(Format::kE2m1) / std::sqrt(3);
  CHECK(error_of_four() < of_one);
  four.scale = four.scale * 1.2;
  CHECK(error_of_four() > of_one);
}

TEST_CASE("scales of channels keep what one scale for all rounds to zero", "[examples]") {
  torch::manual_seed(42);
  const Tensor weight = torch::randn({32, 256}) * torch::pow(10.0, torch::arange(32) / 5.0 - 3).unsqueeze(1);
  const auto worst = [&](Scales scales) {
    const Tensor off = examples::dequantize(examples::quantize_float8(weight, Format::kE4m3, scales)) - weight;
    return (off.norm(2, 1) / weight.norm(2, 1)).max().item<double>();
  };
  CHECK(worst(Scales::kOfTensor) > 0.9);
  CHECK(worst(Scales::kOfRows) < examples::unit_roundoff(Format::kE4m3) / std::sqrt(3));
}

TEST_CASE("dimensions that are no multiples of 16 are padded without a trace", "[examples]") {
  torch::manual_seed(42);
  const Scales scales = GENERATE(Scales::kOfTensor, Scales::kOfRows);
  const std::int64_t inner = GENERATE(16, 10, 33), columns = GENERATE(16, 7);
  const Float8 a = examples::quantize_float8(torch::randn({5, inner}), Format::kE4m3, scales);
  const Float8 b = examples::quantize_float8(torch::randn({columns, inner}), Format::kE4m3, Scales::kOfTensor);
  const Tensor found = examples::product(a, b);
  CHECK(found.sizes() == torch::IntArrayRef({5, columns}));
  CHECK(torch::allclose(found, at::mm(examples::dequantize(a), examples::dequantize(b).t()), 1e-5, 1e-6));
}

TEST_CASE("the emulation is what LibTorch's operator for float8 products gives", "[examples]") {
  torch::manual_seed(42);
  const Format left = GENERATE(Format::kE4m3, Format::kE5m2);
  const Float8 a = examples::quantize_float8(torch::randn({32, 64}), left, Scales::kOfTensor);
  const Float8 b = examples::quantize_float8(torch::randn({16, 64}), Format::kE4m3, Scales::kOfTensor);
  // On a CPU it has one scale a matrix, and is slow.
  const Tensor theirs = at::_scaled_mm(a.values, b.values.t(), a.scales, b.scales, {}, {}, torch::kFloat);
  CHECK(torch::allclose(examples::product(a, b), theirs, 1e-5, 1e-5));
}

TEST_CASE("a delayed scale is that of the largest of the matrices before", "[examples]") {
  examples::DelayedScale delayed(Format::kE4m3, 3, torch::kCPU);
  const auto scale_after = [&](double largest) {
    return delayed.quantize(torch::tensor({{largest, -largest / 2}}).to(torch::kFloat)).scales.item<double>() * 448;
  };
  CHECK(scale_after(8) == Approx(8));  // the first one has no history
  CHECK(scale_after(2) == Approx(8));
  CHECK(scale_after(4) == Approx(8));
  CHECK(scale_after(1) == Approx(8));
  CHECK(scale_after(1) == Approx(4));  // 8 is four matrices ago
  const Float8 grown = delayed.quantize(torch::full({2, 2}, 1e6));
  CHECK(torch::equal(grown.values.to(torch::kFloat), torch::full({2, 2}, 448.0)));  // saturates, once
  CHECK(scale_after(1) == Approx(1e6));
}

TEST_CASE("a float8 layer's three products are as far from float32 as its formats allow", "[examples]") {
  using examples::Float8Recipe;
  const Float8Recipe recipe = GENERATE(Float8Recipe::kDelayed, Float8Recipe::kRows, Float8Recipe::kRowsExactWeights);
  torch::manual_seed(42);
  const auto leaf = [](Tensor x) { return x.requires_grad_(); };
  const Tensor x = leaf(torch::randn({64, 96})), weight = leaf(torch::randn({80, 96}));
  const Tensor seed = torch::randn({64, 80});
  const auto state = c10::make_intrusive<examples::Float8State>(recipe, 4, torch::kCPU);
  const Tensor out = examples::float8_linear(x, weight, state, torch::kFloat);
  out.backward(seed);
  const bool delayed = recipe == Float8Recipe::kDelayed;
  const double forward = examples::product_error_bound(Format::kE4m3, Format::kE4m3);
  const double backward = examples::product_error_bound(delayed ? Format::kE5m2 : Format::kE4m3, Format::kE4m3);
  const auto error = [](const Tensor& found, const Tensor& exact) { return examples::relative_error(found, exact); };
  CHECK(error(out, at::mm(x, weight.t())) < forward);
  CHECK(error(out, at::mm(x, weight.t())) > forward / 4);
  CHECK(error(x.grad(), at::mm(seed, weight)) < backward);
  CHECK(error(x.grad(), at::mm(seed, weight)) > backward / 4);
  const double of_weight = error(weight.grad(), at::mm(seed.t(), x));
  CHECK(of_weight < (recipe == Float8Recipe::kRowsExactWeights ? 1e-6 : backward));
  CHECK((recipe == Float8Recipe::kRowsExactWeights || of_weight > backward / 4));
  // Data want no gradient.
  const Tensor data = x.detach();
  examples::float8_linear(data, weight, state, torch::kFloat).sum().backward();
  CHECK_FALSE(data.grad().defined());
  if (delayed) CHECK(state->gradient.history().gt(0).sum().item<std::int64_t>() == 2);
}

TEST_CASE("tensor cores multiply what the emulation does", "[examples][gpu]") {
  if (!torch::cuda::is_available()) RANGEFINDER_SKIP("no CUDA device");
  const Scales scales = GENERATE(Scales::kOfTensor, Scales::kOfRows);
  const std::string why = examples::float8_skip({.device = "cuda"}, scales);
  if (!why.empty()) RANGEFINDER_SKIP(why);
  torch::manual_seed(42);
  const std::int64_t inner = GENERATE(128, 72), columns = GENERATE(64, 40);
  const Float8 a = examples::quantize_float8(torch::randn({48, inner}), Format::kE4m3, scales);
  const Float8 b = examples::quantize_float8(torch::randn({columns, inner}), Format::kE4m3, scales);
  const auto moved = [](const Float8& x) { return Float8{x.values.cuda(), x.scales.cuda()}; };
  const bool fast = GENERATE(false, true);
  const Tensor found = examples::product(moved(a), moved(b), {.type = torch::kBFloat16, .fast_sums = fast});
  CHECK(examples::relative_error(found.cpu(), examples::product(a, b)) < 5e-3);
  // Casts are the same bits on both.
  const Tensor x = torch::randn({64, 64}) * 100;
  for (const Format format : {Format::kE4m3, Format::kE5m2}) {
    const Float8 here = examples::quantize_float8(x, format, scales), there = quantize_float8(x.cuda(), format, scales);
    CHECK(torch::equal(here.values.view(torch::kByte), there.values.cpu().view(torch::kByte)));
    CHECK(torch::equal(here.scales, there.scales.cpu()));
  }
  for (const BlockFormat format : {BlockFormat::kMxfp8, BlockFormat::kNvfp4})
    CHECK(torch::equal(examples::dequantize(examples::quantize_blocks(x, format)),
                       examples::dequantize(examples::quantize_blocks(x.cuda(), format)).cpu()));
}
