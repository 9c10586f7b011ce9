// SPDX-License-Identifier: MIT
//
// The views threads, parallelism and backward: what a job on CPUs did.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <cstdio>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// A thread that trains and one that loads; half of the backward pass runs on a third one.
Timeline training_on_cpus() {
  TimelineBuilder builder;
  builder.timeline().threads[0].name = "main";
  builder.step(0, 0, 1'000'000).range("step", 0, 1'000'000);
  builder.range("layer0", 100'000, 300'000).range("aten::mm", 150'000, 250'000).of_kind(RangeKind::kOperator);
  builder.range("layer1", 300'000, 400'000).range("backward", 500'000, 900'000);
  builder.on_thread(2).range("load", 0, 600'000);
  builder.on_thread(3).engine().node(600'000, 700'000, 2, 1, 350'000).node(700'000, 850'000, 1, 1, 200'000);
  builder.gradient_accumulation(850'000, 860'000);
  return builder.build();
}

std::string host_report(const Timeline& timeline, const char* view, ReportFormat format = ReportFormat::kCsv) {
  ReportOptions options;
  options.view = view;
  options.format = format;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("threads: what each ran and waited for", "[report]") {
  const std::string csv = host_report(training_on_cpus(), "threads");
  INFO(csv);
  CHECK(has(csv,
            "Thread,Running (ns),Running share (%),In operators (ns),In other ranges (ns),In collectives (ns),Beside "
            "collectives (ns),Waits for devices (ns),Waits for engine (ns),Idle (ns),Idle share (%),CPU time (ns),CPU "
            "share (%),Recorded (ns),Thread "
            "id\n"));
  CHECK(has(csv, "\nmain,740000,74.0,100000,640000,0,0,0,260000,0,0.0,,,1000000,1\n"));
  CHECK(has(csv, "\n2,600000,60.0,0,600000,0,0,0,0,400000,40.0,,,1000000,2\n"));
  const std::string text = host_report(training_on_cpus(), "threads", ReportFormat::kText);
  CHECK(has(text, "1.34 of 2 run at a time, on average"));
  CHECK(has(text, "workers of OpenMP"));
  CHECK_FALSE(has(text, "In collectives"));
}

TEST_CASE("parallelism: threads that ran during ranges and steps", "[report]") {
  const std::string csv = host_report(training_on_cpus(), "parallelism");
  INFO(csv);
  CHECK(
      has(csv,
          "Range,Count,Wall (ns),Thread time (ns),Threads running,Threads,Efficiency (%),CPU time (ns),CPU share (%)\n"
          "(steps),1,1000000,1340000,1.34,2.00,67.0,,\n"));
  CHECK(has(csv, "\nbackward,1,400000,240000,0.60,2.00,30.0,,\n"));  // 140 us of its own, 100 us of the loader
  CHECK(has(csv, "\nlayer1,1,100000,200000,2.00,2.00,100.0,,\n"));
  TimelineBuilder builder;
  builder.range("counted", 0, 1000).cpu_counts({{CpuEvent::kCpuTime, 250}});
  CHECK(has(host_report(builder.build(), "parallelism"), "\ncounted,1,1000,1000,1.00,1.00,100.0,250,25.0\n"));
}

TEST_CASE("backward: host time of nodes on the ranges whose forward pass made them", "[report]") {
  const std::string csv = host_report(training_on_cpus(), "backward");
  INFO(csv);
  CHECK(has(csv,
            "Range,Count,Host (ns),Host self (ns),Backward (ns),Backward self (ns),Backward share (%),Backward by "
            "host,Nodes,Path,Depth,Id,Parent id\n"));
  CHECK(has(csv, "\nstep,1,1000000,300000,250000,0,96.2,0.25,2,step,0,"));
  CHECK(has(csv, "\nlayer0,1,200000,200000,150000,150000,57.7,0.75,1,step/layer0,1,"));
  CHECK(has(csv, "\nlayer1,1,100000,100000,100000,100000,38.5,1.00,1,step/layer1,1,"));
  CHECK(has(host_report(training_on_cpus(), "backward", ReportFormat::kText),
            "backward: 10.00 us of 260.0 us adds up gradients and belongs to no range (1 node)"));
}

TEST_CASE("the views of the host tell of a real job on CPUs", "[report][data]") {
  const std::string path = shared_file("data/kineto/cpu_only_rank34.json.gz");
  if (path.empty()) RANGEFINDER_SKIP("no traces (RANGEFINDER_SHARED)");
  const Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline);
  for (const char* view : {"threads", "parallelism"}) {
    const std::string text = host_report(*timeline, view, ReportFormat::kText);
    INFO(text);
    CHECK(has(text, "thread"));
    std::printf("%s\n", text.c_str());
  }
}
