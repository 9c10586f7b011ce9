// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/breakdown.hpp>

#include <vector>

using namespace rangefinder;
using rangefinder::testing::TimelineBuilder;

namespace {

/// A process of Gloo: what its threads ran, and an all-reduce that ran beside it.
class HostJob {
 public:
  HostJob() { builder_.on_thread(1); }
  TimelineBuilder& build_on(std::int64_t tid) { return builder_.on_thread(tid); }
  /// On the first thread; its work is known from `started` to `completed`.
  HostJob& all_reduce(std::int64_t begin, std::int64_t end, std::int64_t started = kNoTime,
                      std::int64_t completed = kNoTime) {
    CollectiveRow row;
    row.kind = CollectiveKind::kAllReduce;
    row.thread = ThreadIndex{0};
    row.begin_ns = begin;
    row.end_ns = end;
    row.started_ns = started;
    row.completed_ns = completed;
    rows_.push_back(row);
    return *this;
  }
  HostJob& waited(std::int64_t begin, std::int64_t end) {
    rows_.back().wait_thread = ThreadIndex{0};
    rows_.back().wait_begin_ns = begin;
    rows_.back().wait_end_ns = end;
    return *this;
  }
  HostJob& step(std::int64_t number, std::int64_t begin, std::int64_t end) {
    steps_.append({.number = number, .thread = ThreadIndex{0}, .begin_ns = begin, .end_ns = end});
    return *this;
  }
  std::vector<BreakdownRow> rows(BreakdownBy by = BreakdownBy::kDevice) {
    Timeline timeline = builder_.build();
    for (const CollectiveRow& row : rows_) timeline.collectives.append(row);
    timeline.steps = std::move(steps_);
    BreakdownOptions options;
    options.by = by;
    return breakdown(timeline, options);
  }

 private:
  TimelineBuilder builder_;
  std::vector<CollectiveRow> rows_;
  StepTable steps_;
};

}  // namespace

TEST_CASE("a process without work on a device has a row of its host", "[analysis]") {
  HostJob job;
  SECTION("a collective that computation hides, but for the wait at its end") {
    job.build_on(1).range("forward", 0, 100).range("backward", 100, 300).range("wait", 300, 340);
    job.all_reduce(120, 130, 140, 330).waited(305, 335);
    const std::vector<BreakdownRow> rows = job.rows();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].device == kNone);
    CHECK(rows[0].computation_ns == 340 - 10 - 30);
    CHECK(rows[0].communication_ns == 190);
    CHECK(rows[0].exposed_communication_ns == 25);  // from 305 to 330
    CHECK(rows[0].busy_ns == 120 + 200 + 5);        // 120..130 and 330..335 are neither
    CHECK(rows[0].idle_ns == 15);
    CHECK(rows[0].idle.other_ns == 15);
    CHECK(rows[0].total_ns == 340);
    CHECK(rows[0].ops == 1);
  }
  SECTION("a call that returns when all is done hides nothing") {
    job.build_on(1).range("step", 0, 100);
    job.all_reduce(20, 80);
    const std::vector<BreakdownRow> rows = job.rows();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].computation_ns == 40);
    CHECK(rows[0].communication_ns == 60);
    CHECK(rows[0].exposed_communication_ns == 60);
    CHECK(rows[0].idle_ns == 0);
  }
  SECTION("another thread's computation hides it") {
    job.build_on(1).range("step", 0, 100);
    job.build_on(2).range("backward", 30, 60);
    job.all_reduce(20, 80);
    const std::vector<BreakdownRow> rows = job.rows();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].computation_ns == 70);
    CHECK(rows[0].exposed_communication_ns == 30);
  }
  SECTION("operators count more than the annotations around them, and Gloo's own slices are no computation") {
    job.build_on(1).range("step", 0, 100).range("aten::mm", 10, 30).of_kind(RangeKind::kOperator);
    job.build_on(2).range("gloo:all_reduce", 25, 70);
    job.all_reduce(22, 24, 25, 70);
    const std::vector<BreakdownRow> rows = job.rows();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].computation_ns == 18);
    CHECK(rows[0].communication_ns == 45);
    CHECK(rows[0].exposed_communication_ns == 40);
    CHECK(rows[0].total_ns == 60);
  }
  SECTION("a process with work on a device has rows of devices only") {
    job.build_on(1).range("step", 0, 100).launch(10).kernel(20, 40);
    job.all_reduce(20, 80);
    const std::vector<BreakdownRow> rows = job.rows();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].device == 0u);
  }
}

TEST_CASE("rows of the host by step add up to its row", "[analysis]") {
  HostJob job;
  job.build_on(1).range("a", 0, 100).range("b", 120, 200).range("c", 260, 300);
  job.all_reduce(20, 80).all_reduce(130, 150).step(1, 0, 110).step(2, 110, 250);
  const std::vector<BreakdownRow> rows = job.rows(BreakdownBy::kStep);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].step == std::optional<std::int64_t>(1));
  CHECK(rows[0].computation_ns == 40);
  CHECK(rows[0].exposed_communication_ns == 60);
  CHECK(rows[0].idle_ns == 10);
  CHECK(rows[1].computation_ns == 60);
  CHECK(rows[1].ops == 1);
  CHECK_FALSE(rows[2].step);
  CHECK(rows[2].computation_ns == 40);
  CHECK(rows[2].total_ns == 50);
}
