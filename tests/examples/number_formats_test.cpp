// SPDX-License-Identifier: MIT
//
// Casts to the formats of low precision, bit by bit against their definition in double and LibTorch's own types.
#include "common/block_scales.hpp"
#include "common/low_precision.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#undef CHECK  // LibTorch's
#include "support/catch.hpp"

using examples::BlockFormat;
using examples::Float8;
using examples::Format;
using examples::Scales;
using torch::Tensor;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A format as its standard defines it.
struct Definition {
  int digits;          ///< after the leading one
  int least_exponent;  ///< of a number with a leading one
  double most;
};
constexpr Definition kE4m3{3, -6, 448}, kE5m2{2, -14, 57344}, kE2m1{1, 0, 6};

/// Between two numbers of the size of x.
double step_at(double x, const Definition& format) {
  const int exponent = x == 0 ? format.least_exponent : std::max(std::ilogb(x), format.least_exponent);
  return std::ldexp(1.0, exponent - format.digits);
}

/// The nearest number, ties to even; what is too large becomes the largest. Not of NaN.
double rounded(double x, const Definition& format) {
  const double size = std::min(std::abs(x), format.most), step = step_at(size, format);
  return std::copysign(std::nearbyint(size / step) * step, x);  // a whole number of steps: the default mode rounds it
}

/// All kinds of floats: any bits (NaN, infinities and subnormal ones among them), sizes of the format's, and its
/// numbers with what lies between two of them.
std::vector<float> floats(const Definition& format, std::size_t count) {
  std::mt19937 generator(42);  // NOLINT: the same floats each time
  std::vector<float> all{0.0F, -0.0F, kInfinity, -kInfinity, kNaN, -kNaN, std::numeric_limits<float>::denorm_min()};
  for (double x = 0; x <= format.most; x += step_at(x, format)) {
    const float number = static_cast<float>(x), half_way = static_cast<float>(x + step_at(x, format) / 2);
    for (const float each : {number, half_way})
      for (const float near : {each, std::nextafter(each, 0.0F), std::nextafter(each, kInfinity)}) {
        all.push_back(near);
        all.push_back(-near);
      }
  }
  std::uniform_real_distribution<double> exponents(format.least_exponent - format.digits - 2,
                                                   std::log2(format.most) + 1);
  while (all.size() < count) {
    const std::uint32_t bits = generator();
    float any = 0;
    std::memcpy(&any, &bits, sizeof any);
    all.push_back(any);
    const double size = std::exp2(exponents(generator));
    all.push_back(static_cast<float>(bits % 2 == 0 ? size : -size));
  }
  return all;
}

Tensor tensor_of(std::vector<float>& values) {
  return torch::from_blob(values.data(), {1, static_cast<std::int64_t>(values.size())});
}

/// How many of `values` are not what the definition says of `from`; signs of zero count, NaN must stay NaN.
std::size_t differences(const std::vector<float>& from, const Tensor& values, const Definition& format,
                        const std::function<bool(float)>& nan_is_right) {
  const Tensor flat = values.contiguous().view({-1});
  const float* const found = flat.data_ptr<float>();
  std::size_t count = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::isnan(from[i])) {
      count += nan_is_right(found[i]) ? 0 : 1;
      continue;
    }
    const double expected = rounded(from[i], format);
    count += found[i] == expected && std::signbit(found[i]) == std::signbit(expected) ? 0 : 1;
  }
  return count;
}

Tensor one() { return torch::ones({1}); }

constexpr std::size_t kFloats = 1'000'000;

}  // namespace

TEST_CASE("a million floats become the float8 that its definition says", "[examples]") {
  const bool e4m3 = GENERATE(true, false);
  const Definition definition = e4m3 ? kE4m3 : kE5m2;
  std::vector<float> from = floats(definition, kFloats);
  const Float8 cast = examples::to_float8(tensor_of(from), one(), e4m3 ? Format::kE4m3 : Format::kE5m2);
  const auto is_nan = [](float x) { return std::isnan(x); };
  CHECK(differences(from, cast.values.to(torch::kFloat), definition, is_nan) == 0);
  // And the bits are those of LibTorch's own type, which saturates at nothing.
  const auto* const bits = static_cast<const std::uint8_t*>(cast.values.data_ptr());
  std::size_t other_bits = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!(std::abs(static_cast<double>(from[i])) <= definition.most)) continue;
    const std::uint8_t own = e4m3 ? c10::Float8_e4m3fn(from[i]).x : c10::Float8_e5m2(from[i]).x;
    other_bits += bits[i] == own ? 0 : 1;
  }
  CHECK(other_bits == 0);
}

TEST_CASE("each of 256 float8 values converts to float and back", "[examples]") {
  const bool e4m3 = GENERATE(true, false);
  const Format format = e4m3 ? Format::kE4m3 : Format::kE5m2;
  const Tensor bytes = torch::arange(256).to(torch::kByte).view({1, 256});
  const Tensor values = bytes.view(examples::type_of(format)).to(torch::kFloat);
  const Tensor back = examples::to_float8(values, one(), format).values.view(torch::kByte);
  int nan = 0, infinite = 0;
  for (std::int64_t i = 0; i < 256; ++i) {
    const float value = values[0][i].item<float>();
    const auto byte = static_cast<std::int64_t>(back[0][i].item<std::uint8_t>());
    if (std::isnan(value)) {
      ++nan;
      CHECK(torch::isnan(back[0].narrow(0, i, 1).view(examples::type_of(format)).to(torch::kFloat)).item<bool>());
    } else if (std::isinf(value)) {
      ++infinite;
      CHECK(byte == i - 1);  // infinity saturates
    } else {
      CHECK(byte == i);
    }
  }
  CHECK(nan == (e4m3 ? 2 : 6));
  CHECK(infinite == (e4m3 ? 0 : 2));
}

TEST_CASE("a million floats become the float4 that its definition says", "[examples]") {
  std::vector<float> from = floats(kE2m1, kFloats);
  const Tensor codes = examples::to_float4(tensor_of(from));
  CHECK(codes.max().item<std::uint8_t>() < 16);
  CHECK(differences(from, examples::from_float4(codes), kE2m1, [](float x) { return std::abs(x) == 6; }) == 0);
}

TEST_CASE("float4 codes are packed in pairs, the first one low", "[examples]") {
  const Tensor codes = torch::arange(16).to(torch::kByte).view({2, 8});
  const Tensor bytes = examples::pack_float4(codes);
  CHECK(bytes.sizes() == torch::IntArrayRef({2, 4}));
  CHECK(bytes[0][0].item<std::uint8_t>() == 0x10);
  CHECK(bytes[1][3].item<std::uint8_t>() == 0xfe);
  CHECK(torch::equal(examples::unpack_float4(bytes), codes));
  CHECK(torch::equal(examples::to_float4(examples::from_float4(codes)), codes));  // negative zero among them
}

TEST_CASE("a scale in e8m0 is the least power of two that is enough", "[examples]") {
  const Tensor bytes = torch::arange(255).to(torch::kByte);
  const Tensor powers = examples::from_e8m0(bytes);
  for (std::int64_t i = 0; i < 255; ++i) CHECK(powers[i].item<float>() == std::ldexp(1.0F, static_cast<int>(i) - 127));
  CHECK(torch::equal(examples::to_e8m0(powers), bytes));
  CHECK(std::isnan(examples::from_e8m0(torch::full({1}, 255, torch::kByte)).item<float>()));

  std::vector<float> from = floats({0, -120, 0x1p120}, kFloats);
  for (float& x : from) x = std::abs(x);
  const Tensor found = examples::to_e8m0(tensor_of(from)).view({-1});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint8_t byte = found.data_ptr<std::uint8_t>()[i];
    if (!std::isfinite(from[i])) {
      wrong += byte == 255 ? 0 : 1;
      continue;
    }
    if (from[i] == 0) continue;  // any
    const double power = std::ldexp(1.0, byte - 127);
    const bool enough = power >= from[i] || byte == 254, least = power / 2 < from[i] || byte == 0;
    wrong += enough && least ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("elements in blocks are within half a step, and take the bytes of their format", "[examples]") {
  const BlockFormat format = GENERATE(BlockFormat::kMxfp8, BlockFormat::kNvfp4);
  const bool eight = format == BlockFormat::kMxfp8;
  torch::manual_seed(42);
  Tensor x = torch::randn({16, 256}) * torch::pow(2.0, torch::arange(16) - 8.0).unsqueeze(1);
  x[3].zero_();
  const examples::BlockScaled stored = examples::quantize_blocks(x, format);
  CHECK(stored.bytes() == (eight ? 16 * 256 + 16 * 8 : 16 * 128 + 16 * 16 + 4));
  const Tensor back = examples::dequantize(stored);
  // Half a digit of the element, half a step of the smallest; and in NVFP4, where a block's scale was rounded down,
  // what its largest element loses: a sixteenth.
  const std::int64_t block = examples::block_of(format);
  const Tensor most = x.view({16, -1, block}).abs().amax(-1, true).expand({16, 256 / block, block}).reshape({16, 256});
  const double roundoff = examples::unit_roundoff(eight ? Format::kE4m3 : Format::kE2m1);
  const Tensor allowed = eight ? torch::maximum(x.abs() * roundoff, most / 448 * 0x1p-9)
                               : torch::maximum(x.abs() * roundoff, most / 6 * (1 + 0x1p-4) * 0.25);
  const Tensor above_subnormal_scales = most > x.abs().max() * 0x1p-14;
  CHECK(((back - x).abs() <= allowed * 1.0001).logical_or(above_subnormal_scales.logical_not()).all().item<bool>());
  CHECK(back[3].eq(0).all().item<bool>());
  const examples::BlockScaled middle = stored.rows(4, 2);
  CHECK(torch::equal(examples::dequantize(middle), back.narrow(0, 4, 2)));
  CHECK_THROWS_AS(examples::quantize_blocks(torch::ones({2, 40}), format), std::invalid_argument);
}

TEST_CASE("what is not a number does not become one", "[examples]") {
  const float bad = GENERATE(kNaN, kInfinity);
  Tensor x = torch::ones({2, 64});
  x[0][40] = bad;
  const Tensor eight = examples::dequantize(examples::quantize_blocks(x, BlockFormat::kMxfp8));
  CHECK(torch::equal(eight.isnan().sum(1), torch::tensor({32, 0})));
  CHECK(torch::equal(eight.narrow(1, 0, 32), x.narrow(1, 0, 32)));
  const Tensor four = examples::dequantize(examples::quantize_blocks(x, BlockFormat::kNvfp4));
  CHECK(four.isnan().all().item<bool>());  // they share a scale
  const Tensor rows = examples::dequantize(examples::quantize_float8(x, Format::kE4m3, Scales::kOfRows));
  CHECK(rows[0].isnan().any().item<bool>());
  CHECK(torch::equal(rows[1], x[1]));
}

TEST_CASE("a matrix of zeros has a scale, and stays zeros", "[examples]") {
  const Tensor zeros = torch::zeros({4, 32});
  for (const Scales scales : {Scales::kOfTensor, Scales::kOfRows})
    CHECK(torch::equal(examples::dequantize(examples::quantize_float8(zeros, Format::kE5m2, scales)), zeros));
  for (const BlockFormat format : {BlockFormat::kMxfp8, BlockFormat::kNvfp4})
    CHECK(torch::equal(examples::dequantize(examples::quantize_blocks(zeros, format)), zeros));
}
