// SPDX-License-Identifier: MIT
//
// The view tree made smaller, by numbers in names and by depth.
#include "analysis/range_rollup.hpp"
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Layers that hold a part each, with work of their own and in the part.
Timeline layers(int count) {
  TimelineBuilder builder;
  builder.range("step", 0, 1'000);
  for (int i = 0; i < count; ++i) {
    const std::int64_t t = 10 + 100 * i;
    const std::string layer = "layers." + std::to_string(i);
    builder.range(layer, t, t + 90).launch(t + 5).kernel(t + 10, t + 20);
    builder.range(layer + ".attention", t + 30, t + 60).launch(t + 40).kernel(t + 45, t + 45 + i);
  }
  return builder.build();
}

analysis::RangeGroups folded(const Timeline& timeline, const analysis::Folding& folding) {
  return analysis::roll_up_ranges(timeline, project(timeline, {}), {}, analysis::GroupBy::kPath, folding);
}

std::string tree(const Timeline& timeline, bool fold, std::size_t depth) {
  ReportOptions options;
  options.view = "tree";
  options.format = ReportFormat::kCsv;
  options.fold = fold;
  options.depth = depth;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("numbers between dots fold, and nothing else does", "[report]") {
  CHECK(analysis::folded_name("layers.12") == "layers.*");
  CHECK(analysis::folded_name("layers.0.attention.3") == "layers.*.attention.*");
  CHECK(analysis::folded_name("7") == "*");
  for (const char* name : {"conv2d", "layer0", "", ".", "a..b", "step 3", "1a.b2", "aten::mm"})
    CHECK(analysis::folded_name(name) == name);
}

TEST_CASE("layers fold to one row, with the sums of all", "[report]") {
  const Timeline timeline = layers(5);
  analysis::Folding folding;
  folding.numbers = true;
  const auto groups = folded(timeline, folding);
  REQUIRE(groups.size() == 3);
  CHECK(groups.name(timeline, 2) == "layers.*.attention");
  CHECK(groups.name(timeline, groups[2].parent) == "layers.*");
  CHECK(groups.name(timeline, 0) == "step");
  CHECK(groups[1].count == 5);
  CHECK(groups[1].host_ns == 5 * 90);
  CHECK(groups[1].exclusive.gpu_sum_ns == 5 * 10);
  CHECK(groups[1].inclusive.gpu_sum_ns == 5 * 10 + 0 + 1 + 2 + 3 + 4);
  CHECK(groups[2].exclusive.gpu_sum_ns == 10);
}

TEST_CASE("however the tree is folded, what the rows own is what the account says", "[report]") {
  const Timeline timeline = layers(7);
  const Projection projection = project(timeline, {});
  REQUIRE(projection.account.owned.gpu_ops == 14);
  for (const bool numbers : {false, true}) {
    for (const std::uint32_t depth : {0u, 1u, 2u, 9u, std::uint32_t{kNone}}) {
      const auto groups = folded(timeline, {numbers, depth});
      INFO(numbers << " " << depth);
      CHECK(groups.size() == 1 + (depth >= 1 ? (numbers ? 1u : 7u) : 0u) + (depth >= 2 ? (numbers ? 1u : 7u) : 0u));
      std::uint64_t ops = 0;
      std::int64_t sum_ns = 0;
      for (const analysis::RangeGroup& group : groups.rows) {
        ops += group.exclusive.gpu_ops;
        sum_ns += group.exclusive.gpu_sum_ns;
      }
      CHECK(ops == projection.account.owned.gpu_ops);
      CHECK(sum_ns == projection.account.owned.gpu_sum_ns);
    }
  }
}

TEST_CASE("a report shows the folded tree", "[report]") {
  const Timeline timeline = layers(3);
  const std::string all = tree(timeline, false, 0);
  CHECK(all.find("layers.2.attention") != std::string::npos);
  const std::string folded = tree(timeline, true, 2);
  INFO(folded);
  CHECK(folded.find("\nlayers.*,3,") != std::string::npos);
  CHECK(folded.find("step/layers.*") != std::string::npos);
  CHECK(folded.find("attention") == std::string::npos);
}
