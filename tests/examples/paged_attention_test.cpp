// SPDX-License-Identifier: MIT
#include "workloads/kernels/paged_attention.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "workloads/kernels/paged_attention_loop.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace kernels = examples::kernels;
using kernels::PagedShape;

namespace {

/// Sequences of unlike length whose pages lie anywhere in a pool.
struct Planted {
  PagedShape shape;
  std::vector<std::int32_t> lengths, pages;
  std::vector<float> query, keys, values;

  Planted(const PagedShape& of, std::vector<std::int32_t> lengths_of, std::uint64_t seed)
      : shape(of), lengths(std::move(lengths_of)) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    const auto draw = [&](std::int64_t count) {
      std::vector<float> all(static_cast<std::size_t>(count));
      for (float& one : all) one = normal(random);
      return all;
    };
    pages.resize(static_cast<std::size_t>(shape.sequences * shape.table_capacity));
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), random);
    const std::int64_t pool = static_cast<std::int64_t>(pages.size()) * shape.page * shape.key_heads * shape.width;
    query = draw(shape.sequences * shape.heads * shape.width);
    keys = draw(pool);
    values = draw(pool);
  }

  kernels::PageTable table() const { return {pages.data(), lengths.data()}; }

  std::size_t place(std::int64_t sequence, std::int64_t head, std::int64_t token) const {
    const auto page = pages[static_cast<std::size_t>(sequence * shape.table_capacity + token / shape.page)];
    const std::int64_t key_head = head * shape.key_heads / shape.heads;
    return static_cast<std::size_t>(((page * shape.page + token % shape.page) * shape.key_heads + key_head) *
                                    shape.width);
  }

  double score(std::int64_t sequence, std::int64_t head, std::int64_t token) const {
    const auto row = static_cast<std::size_t>((sequence * shape.heads + head) * shape.width);
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape.width); ++i)
      sum += static_cast<double>(query[row + i]) * static_cast<double>(keys[place(sequence, head, token) + i]);
    return sum / std::sqrt(static_cast<double>(shape.width));
  }

  /// In double precision, with all scores at once.
  std::vector<double> expected(std::int64_t sequence, std::int64_t head) const {
    std::vector<double> out(static_cast<std::size_t>(shape.width));
    double weights = 0;
    for (std::int64_t token = 0; token < lengths[static_cast<std::size_t>(sequence)]; ++token) {
      const double weight = std::exp(score(sequence, head, token));
      weights += weight;
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] += weight * static_cast<double>(values[place(sequence, head, token) + i]);
    }
    for (double& one : out) one /= weights;
    return out;
  }
};

}  // namespace

TEST_CASE("paged attention reads the pages of each sequence, up to its length", "[examples]") {
  const std::int64_t width = GENERATE(32, 64, 128);
  const PagedShape shape{4, 4, 2, width, 8, 5};
  // One token, a full page, a token more, and a table that is full.
  const Planted planted(shape, {1, 8, 9, 40}, rangefinder::testing::property_seed("paged attention"));
  std::vector<float> out(planted.query.size());
  REQUIRE(kernels::paged_attention(planted.query.data(), planted.keys.data(), planted.values.data(), planted.table(),
                                   out.data(), shape) == nullptr);
  double farthest = 0;
  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::vector<double> expected = planted.expected(sequence, head);
      const auto row = static_cast<std::size_t>((sequence * shape.heads + head) * width);
      for (std::size_t i = 0; i < expected.size(); ++i)
        farthest = std::max(farthest, std::abs(expected[i] - static_cast<double>(out[row + i])));
    }
  }
  CHECK(farthest < 2e-6);
}

TEST_CASE("paged attention refuses a width for which it has no code", "[examples]") {
  const Planted planted({1, 1, 1, 48, 4, 1}, {4}, 1);
  std::vector<float> out(planted.query.size());
  CHECK(kernels::paged_attention(planted.query.data(), planted.keys.data(), planted.values.data(), planted.table(),
                                 out.data(), planted.shape) != nullptr);
}

TEST_CASE("parts of a sequence, merged, are the whole", "[examples]") {
  // As warps of a device share it: more of them than tokens, too.
  constexpr int kWidth = 4;
  const int tokens = GENERATE(1, 3, 8, 37);
  const float largest = GENERATE(1.0F, 80.0F);  // of scores: their exponentials alone overflow
  std::mt19937_64 random(rangefinder::testing::property_seed("merged parts"));
  std::uniform_real_distribution<float> uniform(-largest, largest);
  const std::int32_t page = 0;
  struct Source {
    std::vector<float> scores, all;
    float score(std::int64_t place) const { return scores[static_cast<std::size_t>(place) / kWidth]; }
    const float* values(std::int64_t place) const { return all.data() + place; }
  } source;
  for (int i = 0; i < tokens; ++i) source.scores.push_back(uniform(random));
  for (int i = 0; i < tokens * kWidth; ++i) source.all.push_back(uniform(random) / largest);
  const kernels::PagedKeys keys{&page, tokens, tokens, kWidth, 0};

  kernels::SoftmaxSum<kWidth> whole, merged;
  kernels::attend(keys, 0, 1, source, whole);
  constexpr int kWarps = 8;
  for (int warp = 0; warp < kWarps; ++warp) {
    kernels::SoftmaxSum<kWidth> part;
    kernels::attend(keys, warp, kWarps, source, part);
    merged.merge(part);
  }
  CHECK(merged.most == whole.most);
  CHECK(merged.weights == Approx(whole.weights).epsilon(1e-5));
  for (int i = 0; i < kWidth; ++i)
    CHECK(merged.values[i] / merged.weights == Approx(whole.values[i] / whole.weights).margin(1e-5));
}
