// SPDX-License-Identifier: MIT
// Real traces compared with each other, as text line by line.
#include "compare/difference.hpp"
#include "compare/written.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/compare.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

using namespace rangefinder;
using rangefinder::testing::shared_file;
using rangefinder::testing::written;

namespace {

RunDifference difference_of(const std::string& baseline, const std::string& candidate) {
  Result<RunDifference> found = compare_runs(baseline, candidate);
  REQUIRE(found.ok());
  for (ComparedSide* side : {&found->baseline, &found->candidate})
    for (std::string& run : side->runs) run = std::filesystem::path(run).filename().string();
  for (const TimeDifference& row : found->times) CHECK(row.division.sum() == row.change_ns());
  return std::move(*found);
}

void check_pair(const char* golden, const char* baseline, const char* candidate) {
  const std::string before = shared_file(baseline), after = shared_file(candidate);
  if (before.empty() || after.empty()) {
    WARN("skipped: the collection of real traces is not there");
    return;
  }
  const RunDifference found = difference_of(before, after);
  rangefinder::testing::require_golden(std::string("compare/") + golden + ".txt", written(found, DiffFormat::kText));
  rangefinder::testing::require_golden(std::string("compare/") + golden + ".md", written(found, DiffFormat::kMarkdown));
  rangefinder::testing::require_golden(std::string("compare/") + golden + ".csv", written(found, DiffFormat::kCsv));
}

}  // namespace

TEST_CASE("a model on other machines", "[compare][golden][data]") {
  check_pair("diff_control_test", "data/kineto/diff_control_a100_rank3of8.json.gz",
             "data/kineto/diff_test_v100_rank1of2.json.gz");
}

TEST_CASE("a model on GPUs of two vendors", "[compare][golden][data]") {
  check_pair("bert_h100_mi300", "data/kineto/h100_gaunernst_bert-small-uncased.json.gz",
             "data/kineto/mi300_gaunernst_bert-small-uncased.json.gz");
}

TEST_CASE("operators that have other names of kernels on another GPU are the same operators", "[compare][data]") {
  const std::string before = shared_file("data/kineto/h100_gaunernst_bert-small-uncased.json.gz");
  const std::string after = shared_file("data/kineto/mi300_gaunernst_bert-small-uncased.json.gz");
  if (before.empty() || after.empty()) {
    WARN("skipped: the collection of real traces is not there");
    return;
  }
  for (const TimeDifference& row : difference_of(before, after).times)
    if (row.by == DifferenceBy::kOperator && row.name == "aten::addmm") {
      CHECK(row.change == PathChange::kSame);
      CHECK(row.baseline_ops > 0);
      CHECK(row.candidate_ops > 0);
    }
}

TEST_CASE("traces compared with themselves have no difference", "[compare][data]") {
  for (const char* name :
       {"resnet50_workers0_v100", "diff_control_a100_rank3of8", "cudagraph_a100_rank0of16", "cpu_only_rank34",
        "mi300_gaunernst_bert-small-uncased", "nccl_a100_rank0of2", "triton_a100"}) {
    const std::string path = shared_file(std::string("data/kineto/") + name + ".json.gz");
    if (path.empty()) {
      WARN("skipped: the collection of real traces is not there");
      return;
    }
    INFO(name);
    const RunDifference found = difference_of(path, path);
    CHECK(found.nothing_found());
    CHECK_FALSE(found.times.empty());
  }
}

TEST_CASE("HTA's comparison of operators: 5 as often, 3 more, 1 fewer", "[compare][data]") {
  const std::string before = shared_file("data/hta/trace_compare_base.json.gz");
  const std::string after = shared_file("data/hta/trace_compare_test.json.gz");
  if (before.empty() || after.empty()) {
    WARN("skipped: the collection of real traces is not there");
    return;
  }
  // HTA counts all of a trace, also what is outside of its steps.
  const auto run_of = [](const std::string& path) {
    Result<Timeline> timeline = load_timeline(path);
    REQUIRE(timeline.ok());
    CHECK(timeline->steps.size() == 2);  // the one of the five that is no row here: ProfilerStep
    timeline->steps = StepTable();
    return compare::figures_of(*timeline);
  };
  const compare::Run baseline = run_of(before), candidate = run_of(after);
  std::map<int, int> found;  // by sign of the change in calls
  for (const TimeDifference& row : compare::difference_of({&baseline, 1}, {&candidate, 1}).times)
    if (row.by == DifferenceBy::kOperator || row.by == DifferenceBy::kPath)
      ++found[row.candidate_calls > row.baseline_calls ? 1 : row.candidate_calls < row.baseline_calls ? -1 : 0];
  CHECK(found[0] == 5 - 1);
  CHECK(found[1] == 3);
  CHECK(found[-1] == 1);
}
