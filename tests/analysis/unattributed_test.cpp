// SPDX-License-Identifier: MIT
#include "analysis/unattributed.hpp"

#include "support/catch.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

using Reason = UnattributedReason;

std::vector<Reason> reasons_of(const Timeline& timeline, Attribution attribution, bool operators = false) {
  ProjectionOptions options;
  options.attribution = attribution;
  options.operators = operators;
  return unattributed_reasons(timeline, project(timeline, options), options);
}

/// A step of one layer on thread 1, its backward pass on thread 2, and what may be launched besides.
Timeline everything() {
  TimelineBuilder builder;
  builder.launch(5).kernel(10, 11);                              // 0: ahead of all ranges
  builder.range("forward", 20, 40).launch(30).kernel(31, 33);    // 1: owned
  builder.launch(45).kernel(46, 49);                             // 2: between, and where node 0 was made
  builder.range("optimizer", 60, 70).launch(70).kernel(75, 80);  // 3: behind; an end is open
  builder.on_thread(2);
  builder.node(100, 110, 7, 1, 46).launch(105).kernel(106, 113);                  // 4: made between ranges
  builder.node(110, 120, 8, 1, 30).launch(115).kernel(116, 120);                  // 5: made in `forward`
  builder.node(120, 130, 9, 1, 0).made_elsewhere().launch(125).kernel(126, 137);  // 6: unmatched
  builder.gradient_accumulation(130, 140).launch(135).kernel(140, 153);           // 7: accumulation
  builder.on_thread(3).launch(150).memcpy(155, 172, 64);                          // 8: a thread without ranges
  builder.without_launch(0).kernel(180, 199);                                     // 9: no id
  builder.without_launch(999).kernel(200, 223);                                   // 10: no such call
  builder.correlation(5'000).launch(300).kernel(301, 303);
  return builder.build();
}

/// Operations and time by reason.
struct Sums {
  std::array<Account::Part, kUnattributedReasons> by_reason{};

  Sums(const Timeline& timeline, const std::vector<Reason>& reasons) {
    const ActivityTable& activities = timeline.activities;
    REQUIRE(reasons.size() == activities.size());
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      Account::Part& part = by_reason.at(static_cast<std::size_t>(reasons[row]));
      ++part.gpu_ops;
      part.gpu_sum_ns += activities.end_ns[row] - activities.begin_ns[row];
    }
  }
  Account::Part sum(Reason first, Reason last) const {
    Account::Part out;
    for (auto reason = static_cast<std::size_t>(first); reason <= static_cast<std::size_t>(last); ++reason) {
      out.gpu_ops += by_reason[reason].gpu_ops;
      out.gpu_sum_ns += by_reason[reason].gpu_sum_ns;
    }
    return out;
  }
};

void require_equal(const Account::Part& reasons, const Account::Part& account) {
  REQUIRE(reasons.gpu_ops == account.gpu_ops);
  REQUIRE(reasons.gpu_sum_ns == account.gpu_sum_ns);
}

void require_no_rest(const Timeline& timeline, const ProjectionOptions& options) {
  const Projection projection = project(timeline, options);
  const Sums sums(timeline, unattributed_reasons(timeline, projection, options));
  require_equal(sums.sum(Reason::kOwned, Reason::kOwned), projection.account.owned);
  require_equal(sums.sum(Reason::kMadeOutside, Reason::kBehindRanges), projection.account.outside);
  require_equal(sums.sum(Reason::kBefore, Reason::kBefore), projection.account.before);
  require_equal(sums.sum(Reason::kNoCorrelation, Reason::kNoCall), projection.account.unknown);
}

}  // namespace

TEST_CASE("every activity without a range has one reason", "[analysis]") {
  const Timeline timeline = everything();
  CHECK(reasons_of(timeline, Attribution::kForward) ==
        std::vector<Reason>{Reason::kAheadOfRanges, Reason::kOwned, Reason::kBetweenRanges, Reason::kBehindRanges,
                            Reason::kMadeOutside, Reason::kOwned, Reason::kUnmatched, Reason::kAccumulation,
                            Reason::kNoRanges, Reason::kNoCorrelation, Reason::kNoCall, Reason::kNoRanges});
  CHECK(reasons_of(timeline, Attribution::kLaunch) ==
        std::vector<Reason>{Reason::kAheadOfRanges, Reason::kOwned, Reason::kBetweenRanges, Reason::kBehindRanges,
                            Reason::kDuringNode, Reason::kDuringNode, Reason::kDuringNode, Reason::kDuringNode,
                            Reason::kNoRanges, Reason::kNoCorrelation, Reason::kNoCall, Reason::kNoRanges});
}

TEST_CASE("the end of the last range counts where the input's ends do", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 10, 20).range("b", 30, 40).launch(41).kernel(50, 60);
  CHECK(reasons_of(builder.closed_ends().build(), Attribution::kLaunch) == std::vector<Reason>{Reason::kBehindRanges});
}

TEST_CASE("of nodes without a number, those that add up gradients are told by their names", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 50);
  builder.on_thread(2).gradient_accumulation(100, 140).launch(110).kernel(200, 210);
  builder.gradient_accumulation(120, 130).launch(125).kernel(210, 220).launch(130).kernel(220, 230);
  builder.launch(140).kernel(230, 240);
  Timeline timeline = builder.build();
  const auto name = [&](std::size_t node, std::string_view text) {
    change_row(timeline.autograd_nodes, node, [&](AutogradNodeRow& row) { row.name = timeline.intern(text); });
  };
  name(0, "AddmmBackward");
  name(1, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad");
  CHECK(reasons_of(timeline, Attribution::kForward) ==
        std::vector<Reason>{Reason::kNoNumber, Reason::kAccumulation, Reason::kNoNumber, Reason::kNoRanges});
}

TEST_CASE("ranges that take no part are no ranges", "[analysis]") {
  TimelineBuilder builder;
  builder.range("aten::mm", 10, 20).of_kind(RangeKind::kOperator).launch(30).kernel(50, 60);
  const Timeline timeline = builder.build();
  CHECK(reasons_of(timeline, Attribution::kLaunch) == std::vector<Reason>{Reason::kNoRanges});
  CHECK(reasons_of(timeline, Attribution::kLaunch, true) == std::vector<Reason>{Reason::kBehindRanges});
}

TEST_CASE("work of an earlier window is from before", "[analysis]") {
  TimelineBuilder builder;
  builder.window(100, 200).without_launch(1).kernel(90, 95).correlation(10).range("step", 100, 150);
  builder.launch(110).kernel(120, 130);
  CHECK(reasons_of(builder.build(), Attribution::kLaunch) == std::vector<Reason>{Reason::kBefore, Reason::kOwned});
}

TEST_CASE("reasons leave no rest of the account", "[analysis]") {
  const Timeline timeline = everything();
  for (const Attribution attribution : {Attribution::kLaunch, Attribution::kForward}) {
    ProjectionOptions options;
    options.attribution = attribution;
    require_no_rest(timeline, options);
  }
}

TEST_CASE("reasons leave no rest of the account of real traces", "[analysis][data]") {
  const std::string folder = shared_file("data/kineto");
  if (folder.empty()) RANGEFINDER_SKIP("no collection of real traces (RANGEFINDER_SHARED)");
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".json.gz") && path.find("/expected/") == std::string::npos) paths.push_back(path);
  }
  if (const std::string nsight = shared_file("data/nsys/h100_2gpu_1s/h100_2gpu_1s.sqlite"); !nsight.empty())
    paths.push_back(nsight);
  std::set<Reason> seen;
  for (const std::string& path : paths) {
    INFO(path);
    const Result<Timeline> timeline = load_timeline(path);
    REQUIRE(timeline);
    for (const Attribution attribution : {Attribution::kLaunch, Attribution::kForward}) {
      ProjectionOptions options;
      options.attribution = attribution;
      require_no_rest(*timeline, options);
      for (const Reason reason : reasons_of(*timeline, attribution)) seen.insert(reason);
    }
  }
  CHECK(paths.size() >= 20);
  CHECK(seen.size() >= 8);
}
