// SPDX-License-Identifier: MIT
//
// The view pipeline.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "timeline/collectives.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Two ranks on CPUs, two steps of 900 ns, two micro-batches that go forward and then back (GPipe): 100 ns forward,
/// 200 ns back. The second stage works twice as long in the second step.
class TwoStages {
 public:
  TwoStages() {
    ProcessGroupInfo group;
    group.name = "0";
    group.ranks = {0, 1};
    group.size = 2;
    for (int rank = 0; rank < 2; ++rank) {
      ProcessInfo process;
      process.rank = rank;
      process.world_size = 2;
      timeline.processes.push_back(process);
      ThreadInfo thread;
      thread.process = ProcessIndex(rank);
      timeline.threads.push_back(thread);
    }
    group_ = timeline::add_process_group(timeline, group);
  }
  void message(int rank, CollectiveKind kind, std::int64_t begin_ns, std::int64_t done_ns) {
    CollectiveRow row;
    row.kind = kind;
    row.process = ProcessIndex(rank);
    row.thread = ThreadIndex(rank);
    row.group = group_;
    row.peer = 1 - rank;
    row.begin_ns = row.end_ns = begin_ns;
    row.completed_ns = done_ns;
    timeline.collectives.append(row);
  }
  void step(int rank, std::int64_t number, std::int64_t begin_ns, std::int64_t end_ns) {
    StepRow row;
    row.number = number;
    row.thread = ThreadIndex(rank);
    row.begin_ns = begin_ns;
    row.end_ns = end_ns;
    timeline.steps.append(row);
  }
  /// Times of the second stage are `slower` times as long.
  void run(std::int64_t number, std::int64_t t, std::int64_t slower) {
    const std::int64_t forward = 100 * slower, back = 200 * slower;
    const std::int64_t first_there = t + 100 + 2 * forward + back, second_there = first_there + back;
    const std::int64_t first_back = first_there + 200, second_back = std::max(first_back, second_there) + 200;
    message(0, CollectiveKind::kSend, t + 100, t + 100);
    message(0, CollectiveKind::kSend, t + 200, t + 200);
    message(0, CollectiveKind::kReceive, t + 200, first_there);
    message(0, CollectiveKind::kReceive, first_back, std::max(first_back, second_there));
    step(0, number, t, second_back);
    message(1, CollectiveKind::kReceive, t, t + 100);
    message(1, CollectiveKind::kReceive, t + 100 + forward, std::max(t + 100 + forward, t + 200));
    message(1, CollectiveKind::kSend, first_there, first_there);
    message(1, CollectiveKind::kSend, second_there, second_there);
    step(1, number, t, second_there);
  }
  Timeline timeline;

 private:
  ProcessGroupIndex group_;
};

Timeline two_stages() {
  TwoStages job;
  job.run(0, 0, 1);
  job.run(1, 900, 2);
  timeline::join_collectives(job.timeline);
  return std::move(job.timeline);
}

std::string pipeline_report(const Timeline& timeline, ReportFormat format, bool instances = false) {
  ReportOptions options;
  options.view = "pipeline";
  options.format = format;
  options.instances = instances;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("the view pipeline has a row per stage, with the ideal of its schedule beside it", "[report]") {
  const std::string csv = pipeline_report(two_stages(), ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv,
            "Pipeline,Stage,Rank,Schedule,Steps,Micro-batches,Kept,Span (ns),Busy (ns),Bubble (ns),Bubble share (%),"
            "Ideal (%),Busy of mean,Work of\n"));
  CHECK(has(csv, "\n1,0,0,GPipe,2,4,2,2400,1200,1200,50.0,33.3,0.80,host\n"));
  CHECK(has(csv, "\n1,1,1,GPipe,2,4,2,2400,1800,600,25.0,33.3,1.20,host\n"));
}

TEST_CASE("the view pipeline has a row per step and stage for instances", "[report]") {
  const std::string csv = pipeline_report(two_stages(), ReportFormat::kCsv, true);
  INFO(csv);
  CHECK(has(csv, "Pipeline,Step,Stage,Rank,Schedule,Micro-batches,"));
  CHECK(has(csv, "\n1,0,0,0,GPipe,2,2,900,600,300,33.3,33.3,1.00,host\n"));
  CHECK(has(csv, "\n1,1,1,1,GPipe,2,2,1500,1200,300,20.0,33.3,1.33,host\n"));
}

TEST_CASE("the view pipeline says in words what it found", "[report]") {
  const std::string text = pipeline_report(two_stages(), ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "pipeline 1: ranks 0, 1; schedule GPipe, micro-batches a step: 2"));
  CHECK(has(text, "stage 1 works most, 1.20 times the mean"));
}

TEST_CASE("the view pipeline says that nothing is sent, and has no rows", "[report]") {
  TwoStages job;
  job.message(0, CollectiveKind::kAllReduce, 0, 10);
  job.message(1, CollectiveKind::kAllReduce, 0, 10);
  const std::string text = pipeline_report(job.timeline, ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "no rank sends to another one or receives from it"));
  CHECK_FALSE(has(pipeline_report(job.timeline, ReportFormat::kCsv), "\n1,"));
}

TEST_CASE("the view pipeline says which stage has no recording", "[report]") {
  TwoStages job;
  job.message(0, CollectiveKind::kSend, 10, 10);
  const std::string text = pipeline_report(job.timeline, ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "there is no recording of rank 1"));
  CHECK(has(text, "this input has no steps"));
}
