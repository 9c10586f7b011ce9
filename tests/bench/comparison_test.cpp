// SPDX-License-Identifier: MIT
#include "bench/comparison.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <limits>

using namespace rangefinder::bench;

namespace {

template <typename T>
TensorView view(std::vector<T>& values, ElementType type, const char* name = "out") {
  return {name, type, {static_cast<std::int64_t>(values.size())}, values.data()};
}

Difference floats(std::vector<float> want, std::vector<float> got, const Tolerance& tolerance = {}) {
  return compare({view(want, ElementType::kFloat32)}, {view(got, ElementType::kFloat32)}, tolerance);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("outputs agree within absolute + relative * |reference|", "[bench]") {
  // numpy.allclose(got, want, rtol, atol): 100.5 is within 0.01 * 100 of 100, 102 is not.
  CHECK(floats({1, 100}, {1, 100.5F}, {0.01, 0}).failure.empty());
  const Difference far = floats({1, 100, 100}, {1, 102, 103}, {0.01, 0.5});
  CHECK(far.outside == 2);
  CHECK(far.most_absolute == 3);
  CHECK(far.most_relative == Approx(0.03));
  CHECK(far.failure.find("element 1: 102 is not 100") != std::string::npos);
  CHECK(floats({0}, {1e-6F}, {0.5, 0}).outside == 1);  // nothing is relative to 0
  CHECK(floats({0}, {1e-6F}, {0, 2e-6}).outside == 0);
  CHECK(floats({1}, {std::nextafter(1.0F, 2.0F)}).outside == 1);  // (0, 0): bit for bit
}

TEST_CASE("what is not finite agrees with itself alone", "[bench]") {
  const Tolerance any{1e9, 1e9};
  CHECK(floats({kNan, kInfinity, -kInfinity}, {kNan, kInfinity, -kInfinity}, any).failure.empty());
  CHECK(floats({1}, {kNan}, any).outside == 1);
  CHECK(floats({kNan}, {1}, any).outside == 1);
  CHECK(floats({kInfinity}, {-kInfinity}, any).outside == 1);
  CHECK(floats({kInfinity}, {1e38F}, any).outside == 1);
  CHECK(floats({1}, {kNan}, {0, 0, 0.5}).outside == 1);  // by norm too
}

TEST_CASE("names, types, shapes and numbers of outputs have to be the same", "[bench]") {
  std::vector<float> values{1, 2, 3, 4};
  std::vector<double> wide{1, 2, 3, 4};
  const TensorView row = view(values, ElementType::kFloat32);
  TensorView square = row, renamed = row;
  square.shape = {2, 2};
  renamed.name = "other";
  CHECK(compare({row}, {row}, {}).failure.empty());
  CHECK(compare({row}, {square}, {}).failure == "output \"out\" is float32 of shape [2, 2], not float32 of shape [4]");
  CHECK_FALSE(compare({row}, {renamed}, {}).failure.empty());
  CHECK_FALSE(compare({row}, {view(wide, ElementType::kFloat64)}, {}).failure.empty());
  CHECK_FALSE(compare({row}, {row, row}, {}).failure.empty());
}

TEST_CASE("an empty output proves nothing", "[bench]") {
  std::vector<float> none;
  CHECK(compare({}, {}, {}).failure == "no output to compare");
  CHECK_FALSE(floats({}, {}).failure.empty());
}

TEST_CASE("integers are exact whatever the tolerance", "[bench]") {
  std::vector<std::int64_t> want{1, std::int64_t{1} << 60}, got{1, (std::int64_t{1} << 60) + 1};
  const Difference found = compare({view(want, ElementType::kInt64)}, {view(got, ElementType::kInt64)}, {1e9, 1e9});
  CHECK(found.outside == 1);
  CHECK(compare({view(want, ElementType::kInt64)}, {view(want, ElementType::kInt64)}, {}).outside == 0);
}

TEST_CASE("half precision is read as what it means", "[bench]") {
  // 1, -2, 65504, the least subnormal, infinity, NaN; then 1 and -2.5 in bfloat16.
  std::vector<std::uint16_t> half{0x3C00, 0xC000, 0x7BFF, 0x0001, 0x7C00, 0x7E00}, brain{0x3F80, 0xC020};
  const TensorView halves = view(half, ElementType::kFloat16), brains = view(brain, ElementType::kBFloat16);
  CHECK(float_at(halves, 0) == 1);
  CHECK(float_at(halves, 1) == -2);
  CHECK(float_at(halves, 2) == 65504);
  CHECK(float_at(halves, 3) == std::ldexp(1, -24));
  CHECK(std::isinf(float_at(halves, 4)));
  CHECK(std::isnan(float_at(halves, 5)));
  CHECK(float_at(brains, 0) == 1);
  CHECK(float_at(brains, 1) == -2.5);
}

TEST_CASE("a norm is of a tensor as a whole", "[bench]") {
  // |(0.3, 0.4)| / |(3, 4)| = 0.1
  CHECK(floats({3, 4}, {3.3F, 4.4F}, {0, 0, 0.11}).failure.empty());
  const Difference found = floats({3, 4}, {3.3F, 4.4F}, {0, 0, 0.09});
  CHECK(found.frobenius == Approx(0.1).epsilon(1e-5));
  CHECK_FALSE(found.failure.empty());
  CHECK_FALSE(floats({0, 0}, {0, 1}, {0, 0, 0.5}).failure.empty());
}

TEST_CASE("which tolerance is looser", "[bench]") {
  CHECK_FALSE(looser({1e-5, 1e-6}, {1e-5, 1e-6}));
  CHECK_FALSE(looser({1e-6, 1e-6}, {1e-5, 1e-6}));
  CHECK(looser({1e-4, 1e-6}, {1e-5, 1e-6}));
  CHECK(looser({1e-6, 1e-5}, {1e-5, 1e-6}));
  CHECK(looser({0, 0, 0.1}, {0, 0, 0.05}));
  CHECK(looser({0, 0, 0.1}, {1e-5, 1e-5}));
  CHECK(looser({1e-5, 1e-5}, {0, 0, 0.1}));
}

TEST_CASE("shapes that no memory holds are refused", "[bench]") {
  TensorView tensor{"x", ElementType::kFloat32, {std::int64_t{1} << 40, std::int64_t{1} << 40}, nullptr};
  CHECK_FALSE(element_count(tensor).ok());
  tensor.shape = {-1};
  CHECK_FALSE(element_count(tensor).ok());
  tensor.shape = {3, 0, 5};
  CHECK(*element_count(tensor) == 0);
  tensor.shape = {};
  CHECK(*element_count(tensor) == 1);
}
