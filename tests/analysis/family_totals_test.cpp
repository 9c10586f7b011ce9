// SPDX-License-Identifier: MIT
#include "analysis/family_totals.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

constexpr const char* kKernels[] = {"ampere_sgemm_32x128_tn", "void at::native::reduce_kernel<512, 1>(int)",
                                    "void at::native::vectorized_elementwise_kernel<4, AddFunctor<float>>(int)",
                                    "my_kernel"};

/// "step GEMM 2 ops 30 ns; ..."
std::string text_of(const Timeline& timeline, const std::vector<FamilyTotal>& rows) {
  std::string text;
  for (const FamilyTotal& row : rows) {
    text += text.empty() ? "" : "; ";
    if (row.range != StringId::kEmpty) text += std::string(timeline.text(row.range)) + " ";
    if (row.unowned) text += "(none) ";
    text += std::string(word_of(row.family)) + " " + std::to_string(row.ops) + " ops " +
            std::to_string(row.gpu_sum_ns) + " ns";
  }
  return text;
}

std::string by_range(const Timeline& timeline) {
  const ProjectionOptions options;
  return text_of(timeline,
                 family_totals_of_ranges(timeline, project(timeline, options), options, KernelFamilies(timeline)));
}

}  // namespace

TEST_CASE("families have the time of their operations, most first, and what runs at once counts once as busy",
          "[analysis]") {
  TimelineBuilder builder;
  builder.range("aten::mm", 0, 100).of_kind(RangeKind::kOperator);
  builder.launch(1).on_stream(7).kernel(10, 30, kKernels[0]).on_stream(8).kernel(20, 60, kKernels[0]);
  builder.launch(200).kernel(210, 215, kKernels[1]).memset(220, 221, 64).without_launch(77).kernel(300, 307, "mine");
  const Timeline timeline = builder.build();
  const std::vector<FamilyTotal> rows = family_totals(timeline, KernelFamilies(timeline));
  CHECK(text_of(timeline, rows) == "GEMM 2 ops 60 ns; other 1 ops 7 ns; reduction 1 ops 5 ns; copy 1 ops 1 ns");
  CHECK(rows[0].gpu_busy_ns == 50);
  CHECK(rows[0].names == 1);
  CHECK(timeline.text(rows[0].main_kernel) == kKernels[0]);
  CHECK(timeline.text(rows[0].main_operator) == "aten::mm");
  CHECK(rows[2].main_operator == StringId::kEmpty);
}

TEST_CASE("work of two devices at once is busy time of both", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(1).on_device(0).kernel(10, 30).on_device(1).kernel(10, 30);
  const Timeline timeline = builder.build();
  CHECK(family_totals(timeline, KernelFamilies(timeline))[0].gpu_busy_ns == 40);
}

TEST_CASE("a range has the families of the ranges inside it, and nothing twice", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).launch(1).kernel(10, 30, kKernels[0]);
  builder.range("layer", 10, 50).range("layer", 20, 40).launch(21).kernel(40, 45, kKernels[1]);
  builder.launch(200).kernel(210, 213, kKernels[0]);
  CHECK(by_range(builder.build()) ==
        "step GEMM 1 ops 20 ns; step reduction 1 ops 5 ns; layer reduction 1 ops 5 ns; (none) GEMM 1 ops 3 ns");
}

TEST_CASE("families of ranges are those that a slow look at each activity's ranges finds", "[analysis][property]") {
  for (const std::uint64_t seed : property_seeds("families of ranges", repeats(60))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    TimelineBuilder builder;
    for (int i = 0; i < 30; ++i) {
      const auto begin = static_cast<std::int64_t>(below(random, 1000));
      builder.range(std::string(1, static_cast<char>('a' + below(random, 4))), begin,
                    begin + static_cast<std::int64_t>(below(random, 400)));
    }
    for (int i = 0; i < 60; ++i) {
      const auto begin = static_cast<std::int64_t>(below(random, 2000));
      builder.launch(static_cast<std::int64_t>(below(random, 1400)));
      builder.kernel(begin, begin + static_cast<std::int64_t>(below(random, 50)), kKernels[below(random, 4)]);
    }
    const Timeline timeline = builder.build();
    const ProjectionOptions options;
    const Projection projection = project(timeline, options);
    const KernelFamilies families(timeline);
    std::map<std::pair<std::string, KernelFamily>, std::pair<std::uint64_t, std::int64_t>> expected, found;
    for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
      std::set<std::string> names;
      const std::uint32_t owner = projection.owner[row];
      if (owner >= timeline.ranges.size()) names.insert("");
      for (RangeIndex range(owner); range < timeline.ranges.size(); range = projection.parent[range])
        names.insert(std::string(timeline.text(timeline.ranges.name[range])));
      for (const std::string& name : names) {
        auto& [ops, sum_ns] = expected[{name, families.of(row)}];
        ++ops;
        sum_ns += timeline.activities.end_ns[row] - timeline.activities.begin_ns[row];
      }
    }
    for (const FamilyTotal& row : family_totals_of_ranges(timeline, projection, options, families))
      CHECK(
          found
              .emplace(std::pair(std::string(timeline.text(row.range)), row.family), std::pair(row.ops, row.gpu_sum_ns))
              .second);
    CHECK(found == expected);
  }
}
