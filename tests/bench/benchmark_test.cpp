// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <rangefinder/bench/benchmark.hpp>

#include <limits>

using namespace rangefinder::bench;

namespace {

template <typename T>
class Holder : public Variant {
 public:
  Holder(std::vector<T> initial, ElementType type) : values(std::move(initial)), type_(type) {}
  void setup(const Setup&) override {}
  void step() override {}
  std::vector<TensorView> inputs() override {
    return {{"x", type_, {static_cast<std::int64_t>(values.size())}, values.data()}};
  }
  std::vector<TensorView> outputs() override { return {}; }

  std::vector<T> values;

 private:
  ElementType type_;
};

template <typename T>
std::vector<T> perturbed(std::vector<T> values, ElementType type) {
  Holder<T> holder(std::move(values), type);
  holder.perturb();
  return holder.values;
}

}  // namespace

TEST_CASE("perturbing changes the middle element of the first input alone", "[bench]") {
  CHECK(perturbed<float>({1, 2, -3, 4, 5}, ElementType::kFloat32) == std::vector<float>{1, 2, -4, 4, 5});
  CHECK(perturbed<double>({0.5}, ElementType::kFloat64) == std::vector<double>{1.5});
  CHECK(perturbed<float>({std::numeric_limits<float>::infinity()}, ElementType::kFloat32) == std::vector<float>{1});
  CHECK(perturbed<std::int64_t>({7, 8, 9}, ElementType::kInt64) == std::vector<std::int64_t>{7, 9, 9});
  CHECK(perturbed<std::uint8_t>({1, 0}, ElementType::kBool) == std::vector<std::uint8_t>{1, 1});
  CHECK(perturbed<std::uint16_t>({0x3C00}, ElementType::kFloat16) != std::vector<std::uint16_t>{0x3C00});
  CHECK_THROWS(perturbed<float>({}, ElementType::kFloat32));
}

TEST_CASE("benchmarks are kept by name, once each", "[bench]") {
  Benchmark benchmark;
  benchmark.name = "benchmark_test_b";
  CHECK(add_benchmark(benchmark));
  CHECK_FALSE(add_benchmark(benchmark));
  benchmark.name = "benchmark_test_a";
  CHECK(add_benchmark(benchmark));
  REQUIRE(benchmarks().size() == 2);
  CHECK(benchmarks()[0].name == "benchmark_test_a");
}
