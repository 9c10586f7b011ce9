// SPDX-License-Identifier: MIT
//
// The views stragglers and ranks.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr std::int64_t kStepLength_ns = 1'000'000;

/// Three ranks that reduce on the host; `data_ns` of the last rank is how long it waits for data. All steps take 1 ms,
/// of which the slowest rank waits for nobody and the reduction takes 100 us.
Timeline three_ranks(int steps, std::int64_t data_ns) {
  TimelineBuilder builder;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    builder.on_process(1 + rank);
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t begin_ns = step * kStepLength_ns, end_ns = begin_ns + kStepLength_ns;
      const std::int64_t own_ns = rank == 2 ? std::min<std::int64_t>(900'000, 600'000 + data_ns) : 700'000;
      builder.step(step, begin_ns, end_ns);
      builder.range("data", begin_ns, begin_ns + (rank == 2 ? data_ns : 100'000));
      CollectiveRow row;
      row.kind = CollectiveKind::kAllReduce;
      row.process = ProcessIndex(rank);
      row.thread = ThreadIndex(rank);
      row.begin_ns = row.started_ns = begin_ns + own_ns;
      row.end_ns = row.completed_ns = end_ns;
      builder.timeline().collectives.append(row);
    }
  }
  Timeline timeline = builder.build();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    timeline.processes[rank].rank = static_cast<std::int32_t>(rank);
    timeline.processes[rank].host = "node0";
  }
  return timeline;
}

std::string report_of(const Timeline& timeline, const char* view, ReportFormat format, std::string columns = {}) {
  ReportOptions options;
  options.view = view;
  options.format = format;
  options.columns = std::move(columns);
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("the slow rank comes first, with what it is slow at", "[report]") {
  const Timeline timeline = three_ranks(10, 300'000);
  const std::string csv = report_of(timeline, "stragglers", ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv,
            "Rank,Host,State,Excess (ns),Excess share (%),Cause,Cause share (%),Slow range,Confidence (%),Step (ns),"
            "Own (ns),Waited (ns),Kernel score,Steps,Slow steps,Odd steps,Input excess (ns),Host excess (ns),"
            "GEMM excess (ns),Attention excess (ns),"));
  CHECK(has(csv, "\n2,node0,slow,200000,20.0,input,100.0,data,"));
  CHECK(has(csv, ",1000000,900000,0,,10,10,0,200000,0,0,"));
  CHECK(has(csv, "\n0,node0,,0,0.0,,,,,1000000,700000,200000,,10,,0,0,0,0,"));
  CHECK(csv.find("\n2,node0") < csv.find("\n0,node0"));
}

TEST_CASE("text says in words who is slow, by how much and at what", "[report]") {
  const std::string text = report_of(three_ranks(10, 300'000), "stragglers", ReportFormat::kText);
  INFO(text);
  CHECK(has(text,
            "stragglers: rank 2 (node0) is slow: its own work takes 200.0 us (20.0 % of a step) longer than on the "
            "median rank, in most steps; cause: input (100.0 % of it), in range data; confidence over 99.99 %"));
  CHECK_FALSE(has(text, "Input excess"));
}

TEST_CASE("JSON has the figures under their names", "[report]") {
  const std::string json = report_of(three_ranks(10, 300'000), "stragglers", ReportFormat::kJson);
  INFO(json);
  for (const char* key : {"rank", "state", "excess_ns", "excess_share", "cause", "slow_range", "confidence", "own_ns",
                          "waited_ns", "kernel_score", "gemm_excess_ns", "communication_excess_ns", "p_value"})
    CHECK(has(json, "\"" + std::string(key)));
}

TEST_CASE("where no rank stands out the text says so", "[report]") {
  const std::string text = report_of(three_ranks(10, 110'000), "stragglers", ReportFormat::kText);
  INFO(text);
  CHECK(has(text,
            "stragglers: no rank stands out: 3 ranks, 10 steps; the slowest is rank 2 (node0), by 1.0 % of a step"));
}

TEST_CASE("with few steps nobody is judged, and the text says why", "[report]") {
  for (const char* view : {"stragglers", "ranks"}) {
    const std::string text = report_of(three_ranks(5, 300'000), view, ReportFormat::kText);
    INFO(text);
    CHECK(
        has(text, std::string(view) + ": no rank was judged: the ranks have 5 steps in common; at least 8 are needed"));
  }
}

TEST_CASE("the heat map has a character a step, and programs get a row for each rank and step", "[report]") {
  const Timeline timeline = three_ranks(10, 300'000);
  SECTION("text") {
    const std::string text = report_of(timeline, "ranks", ReportFormat::kText);
    INFO(text);
    CHECK(
        has(text, "\xE2\x96\x86\xE2\x96\x86\xE2\x96\x86\xE2\x96\x86\xE2\x96\x86\xE2\x96\x86\xE2\x96\x86\xE2\x96\x86"));
    CHECK(has(text, ".........."));
    CHECK(has(text, "ranks: steps 0 to 9, one a character; how much longer own work took than on the median rank"));
  }
  SECTION("many steps") {
    const std::string text = report_of(three_ranks(100, 300'000), "ranks", ReportFormat::kText);
    INFO(text);
    CHECK(has(text, "2 a character, of which the slowest counts"));
  }
  SECTION("CSV") {
    const std::string csv = report_of(timeline, "ranks", ReportFormat::kCsv);
    INFO(csv);
    CHECK(has(csv,
              "Rank,Host,Step,Time (ns),Own (ns),Waited (ns),Communication (ns),Excess (ns),Excess share (%),Odd,"
              "Data wait (ns),Idle (ns)\n"));
    CHECK(has(csv, "\n0,node0,3,1000000,700000,200000,100000,0,0.0,0,100000,700000\n"));
    CHECK(has(csv, "\n2,node0,3,1000000,900000,0,100000,200000,20.0,0,300000,900000\n"));
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 31);
  }
  SECTION("text with columns of one's own") {
    const std::string text = report_of(timeline, "ranks", ReportFormat::kText, "rank,step,excess");
    INFO(text);
    CHECK(has(text, "200.0 us"));
  }
}

TEST_CASE("ranges that wait for data may have names of one's own", "[report]") {
  ReportOptions options;
  options.view = "stragglers";
  options.format = ReportFormat::kCsv;
  options.step_names = "data=fetch*";
  const std::string csv = rendered(three_ranks(10, 300'000), options);
  INFO(csv);
  CHECK(has(csv, "\n2,node0,slow,200000,20.0,host,100.0,data,"));
  options.step_names = "dta=fetch*";
  const Status status = write_report(three_ranks(10, 300'000), options, [](std::string_view) { return true; });
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kInvalidArgument);
}
