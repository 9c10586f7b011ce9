// SPDX-License-Identifier: MIT
//
// The view unattributed: why no range owns what it does not own.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline loose_work() {
  TimelineBuilder builder;
  builder.range("forward", 100, 200).launch_call("cudaLaunchKernel", 150, 160).kernel(1'000, 1'600, "gemm");
  builder.launch_call("cudaLaunchKernel", 20, 30).kernel(300, 310, "fill");
  builder.on_thread(2).range("aten::copy_", 400, 450).of_kind(RangeKind::kOperator);
  builder.launch_call("cudaMemcpyAsync", 410, 420).memcpy(500, 600, 8);
  builder.launch_call("cudaLaunchKernel", 430, 440).kernel(700, 900, "cast").kernel(900, 990, "cast");
  return builder.build();
}

std::string unattributed_report(const Timeline& timeline, std::string_view view, ReportFormat format) {
  ReportOptions options;
  options.view = view;
  options.format = format;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("work without a range is listed by reason and operation, with what launched it", "[report]") {
  const std::string csv = unattributed_report(loose_work(), "unattributed", ReportFormat::kCsv);
  INFO(csv);
  CHECK(csv ==
        "Reason,Operations,Total (ns),Share (%),Longest (ns),Longest begins (ns),Longest launched by,Operation,Part\n"
        "on a thread without ranges,2,290,29.0,200,700,aten::copy_ on 2,cast,outside\n"
        "on a thread without ranges,1,100,10.0,100,500,aten::copy_ on 2,memcpy,outside\n"
        "before the first range of its thread,1,10,1.0,10,300,cudaLaunchKernel on 1,fill,outside\n");
}

TEST_CASE("the summary of work without a range has one row per reason", "[report]") {
  const std::string csv = unattributed_report(loose_work(), "unattributed:summary", ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv, "\non a thread without ranges,3,390,39.0,200,700,aten::copy_ on 2,,outside\n"));
  CHECK(has(csv, "\nbefore the first range of its thread,1,10,1.0,10,"));
  const std::string text = unattributed_report(loose_work(), "unattributed:summary", ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "launched outside any range"));
  CHECK_FALSE(has(text, "Operation\n"));
}

TEST_CASE("where ranges own everything there is nothing to list", "[report]") {
  const Timeline timeline = TimelineBuilder().range("step", 0, 10).launch(5).kernel(20, 30).build();
  CHECK(unattributed_report(timeline, "unattributed", ReportFormat::kCsv).find('\n') ==
        unattributed_report(timeline, "unattributed", ReportFormat::kCsv).size() - 1);
}
