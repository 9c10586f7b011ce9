// SPDX-License-Identifier: MIT
// One benchmark, one file: sums of the rows of a matrix, walked down its columns and along its rows.
#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/range.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace {

namespace bench = rangefinder::bench;

std::size_t extent_of(const std::string& size) { return size == "smoke" ? 128 : 2048; }

/// What a variant takes, told without making one.
bench::Estimate estimate(const bench::Setup& setup) {
  const auto extent = static_cast<double>(extent_of(setup.size)), elements = extent * extent;
  return {.input_bytes = elements * sizeof(float),
          .output_bytes = extent * sizeof(float),
          .flops = elements,
          .bytes = elements * sizeof(float),
          .random_numbers = elements};
}

class MatrixWalk : public bench::Variant {
 public:
  explicit MatrixWalk(bool along_rows) : along_rows_(along_rows) {}

  void setup(const bench::Setup& setup) override {
    extent_ = extent_of(setup.size);
    matrix_.resize(extent_ * extent_);
    sums_.resize(extent_);
    std::uint64_t state = setup.seed;  // the same numbers for both variants, others for another seed
    for (float& value : matrix_) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<float>(state >> 40) / 16777216.0F;
    }
  }

  void step() override {
    static const rangefinder::RangeName kWalk{"walk"};
    rangefinder::ProfileRange range{kWalk};
    std::fill(sums_.begin(), sums_.end(), 0.0F);
    // Each row is added up from left to right either way: the sums are the same, bit for bit.
    for (std::size_t outer = 0; outer < extent_; ++outer) {
      for (std::size_t inner = 0; inner < extent_; ++inner) {
        const std::size_t row = along_rows_ ? outer : inner, column = along_rows_ ? inner : outer;
        sums_[row] += matrix_[row * extent_ + column];
      }
    }
  }

  std::vector<bench::TensorView> inputs() override {
    const auto extent = static_cast<std::int64_t>(extent_);
    return {{"matrix", bench::ElementType::kFloat32, {extent, extent}, matrix_.data()}};
  }
  std::vector<bench::TensorView> outputs() override {
    return {{"sums", bench::ElementType::kFloat32, {static_cast<std::int64_t>(extent_)}, sums_.data()}};
  }
  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(extent_);
    work.bytes = static_cast<double>(matrix_.size() * sizeof(float));
    work.flops = static_cast<double>(matrix_.size());
    return work;
  }

 private:
  bool along_rows_;
  std::size_t extent_ = 0;
  std::vector<float> matrix_;
  std::vector<float> sums_;
};

bench::Benchmark matrix_walk() {
  bench::Benchmark benchmark;
  benchmark.name = "matrix_walk";
  benchmark.purpose = "sums of rows: down the columns, along the rows";
  benchmark.chapter = "example";
  benchmark.sizes = {"smoke", "cpu"};
  benchmark.baseline.make = [] { return std::make_unique<MatrixWalk>(false); };
  benchmark.optimized.make = [] { return std::make_unique<MatrixWalk>(true); };
  benchmark.estimate = estimate;
  return benchmark;  // no tolerance: equal to the last bit
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(matrix_walk());

}  // namespace
